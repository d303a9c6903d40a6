/* The functions of FMI 2.0 for model exchange and co-simulation, around unit.h. */

#include <stdarg.h>

#include "unit.h"

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

/* Linked statically, several FMUs live in one program, each with its own prefix. */
#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX)
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define NAMED(name) JOINED(FMI2_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif
#if defined(_WIN32) || defined(__CYGWIN__)
#define PUBLIC(type, name) __declspec(dllexport) type NAMED(name)
#elif defined(__GNUC__)
#define PUBLIC(type, name) __attribute__((visibility("default"))) type NAMED(name)
#else
#define PUBLIC(type, name) type NAMED(name)
#endif

typedef struct {
    Unit unit;
    const fmi2CallbackFunctions *call;
    char *name;
    fmi2Boolean logging;
} Instance;

#define UNIT (&((Instance *)c)->unit)

static fmi2Status failed(fmi2Component c, fmi2Status status, const char *format, double number)
{
    Instance *instance = c;
    char text[400];
    snprintf(text, sizeof text, format, number);
    if (instance->call && instance->call->logger) {
        instance->call->logger(instance->call->componentEnvironment, instance->name, status,
                               status == fmi2Discard ? "logStatusDiscard" : "logStatusError", "%s", text);
    }
    return status;
}

PUBLIC(const char *, fmi2GetTypesPlatform)(void)
{
    return "default";
}

PUBLIC(const char *, fmi2GetVersion)(void)
{
    return "2.0";
}

PUBLIC(fmi2Status, fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)n;
    (void)categories;
    ((Instance *)c)->logging = on;
    return fmi2OK;
}

PUBLIC(void, fmi2FreeInstance)(fmi2Component c)
{
    if (c) {
        free(((Instance *)c)->name);
        free(c);
    }
}

PUBLIC(fmi2Component, fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                       const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                       fmi2Boolean logging)
{
    Instance *instance = calloc(1, sizeof *instance);
    (void)type;
    (void)resources;
    (void)visible;
    if (!instance) {
        return NULL;
    }
    instance->call = functions;
    instance->logging = logging;
    instance->name = malloc(strlen(name ? name : "") + 1);
    if (!instance->name) {
        free(instance);
        return NULL;
    }
    strcpy(instance->name, name ? name : "");
    if (!guid || strcmp(guid, TOKEN) != 0) {
        failed(instance, fmi2Error, "the GUID of the model description is not that of the binary", 0);
        NAMED(fmi2FreeInstance)(instance);
        return NULL;
    }
    unit_reset(&instance->unit);
    return instance;
}

PUBLIC(fmi2Status, fmi2SetupExperiment)(fmi2Component c, fmi2Boolean hasTolerance, fmi2Real tolerance, fmi2Real start,
                                        fmi2Boolean hasStop, fmi2Real stop)
{
    (void)hasStop;
    (void)stop;
    if (hasTolerance && !(tolerance > 0)) {
        return failed(c, fmi2Error, "the tolerance is %g; it must be positive", tolerance);
    }
    if (hasTolerance) {
        UNIT->now.tolerance = tolerance;
    }
    unit_set(UNIT, 0, start);
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2EnterInitializationMode)(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2ExitInitializationMode)(fmi2Component c)
{
    return unit_close(UNIT) ? fmi2OK : failed(c, fmi2Error, OPEN, 0);
}

PUBLIC(fmi2Status, fmi2Terminate)(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2Reset)(fmi2Component c)
{
    unit_reset(UNIT);
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    for (size_t k = 0; k < n; ++k) {
        if (!unit_get(UNIT, vr[k], value + k)) {
            return failed(c, fmi2Error, "there is no real variable %.0f", vr[k]);
        }
    }
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    for (size_t k = 0; k < n; ++k) {
        if (!unit_set(UNIT, vr[k], value[k])) {
            return failed(c, fmi2Error, "the real variable %.0f cannot be set", vr[k]);
        }
    }
    return fmi2OK;
}

#define NONE(Kind, type) \
    PUBLIC(fmi2Status, fmi2Get##Kind)(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]) \
    { \
        (void)vr; \
        (void)value; \
        return n ? failed(c, fmi2Error, "there are real variables only", 0) : fmi2OK; \
    } \
    PUBLIC(fmi2Status, fmi2Set##Kind)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[]) \
    { \
        (void)vr; \
        (void)value; \
        return n ? failed(c, fmi2Error, "there are real variables only", 0) : fmi2OK; \
    }

NONE(Integer, fmi2Integer)
NONE(Boolean, fmi2Boolean)
NONE(String, fmi2String)

PUBLIC(fmi2Status, fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    if (!*state) {
        *state = malloc(sizeof(Memory));
    }
    if (!*state) {
        return failed(c, fmi2Error, "no memory", 0);
    }
    memcpy(*state, &UNIT->now, sizeof(Memory));
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state)
{
    memcpy(&UNIT->now, state, sizeof(Memory));
    UNIT->fresh = 0;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(Memory);
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(Memory)) {
        return failed(c, fmi2Error, "a serialised state takes %.0f bytes", (double)sizeof(Memory));
    }
    memcpy(bytes, state, sizeof(Memory));
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    if (size != sizeof(Memory)) {
        return failed(c, fmi2Error, "a serialised state takes %.0f bytes", (double)sizeof(Memory));
    }
    if (!*state) {
        *state = malloc(sizeof(Memory));
    }
    if (!*state) {
        return failed(c, fmi2Error, "no memory", 0);
    }
    memcpy(*state, bytes, sizeof(Memory));
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknowns[], size_t count,
                                                 const fmi2ValueReference knowns[], size_t given,
                                                 const fmi2Real change[], fmi2Real found[])
{
    if (!unit_direction(UNIT, unknowns, count, knowns, given, change, found)) {
        return failed(c, fmi2Error, "a directional derivative of, or along, a variable that has none", 0);
    }
    return fmi2OK;
}

/* -------------------------------------------------------------------------------------------------- model exchange */

PUBLIC(fmi2Status, fmi2EnterEventMode)(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info)
{
    memset(info, 0, sizeof *info);
    if (unit_has_drifted(UNIT)) {
        if (!unit_close(UNIT)) {
            return failed(c, fmi2Error, OPEN, 0);
        }
        info->valuesOfContinuousStatesChanged = 1;
    }
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2EnterContinuousTimeMode)(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2CompletedIntegratorStep)(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                                fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    *enterEventMode = unit_has_drifted(UNIT);
    *terminateSimulation = 0;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SetTime)(fmi2Component c, fmi2Real time)
{
    unit_set(UNIT, 0, time);
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2SetContinuousStates)(fmi2Component c, const fmi2Real x[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi2Error, "there are %.0f continuous states", NX);
    }
    memcpy(UNIT->now.z + STATES, x, n * sizeof(double));
    UNIT->fresh = 0;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetDerivatives)(fmi2Component c, fmi2Real rates[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi2Error, "there are %.0f continuous states", NX);
    }
    if (!unit_update(UNIT)) {
        return failed(c, fmi2Discard, STUCK, UNIT->now.z[0]);
    }
    memcpy(rates, UNIT->f, n * sizeof(double));
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t n)
{
    (void)indicators;
    return n ? failed(c, fmi2Error, "there are no event indicators", 0) : fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetContinuousStates)(fmi2Component c, fmi2Real x[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi2Error, "there are %.0f continuous states", NX);
    }
    memcpy(x, UNIT->now.z + STATES, n * sizeof(double));
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominal[], size_t n)
{
    (void)c;
    for (size_t k = 0; k < n; ++k) {
        nominal[k] = 1;
    }
    return fmi2OK;
}

/* --------------------------------------------------------------------------------------------------- co-simulation */

PUBLIC(fmi2Status, fmi2DoStep)(fmi2Component c, fmi2Real time, fmi2Real step,
                               fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    const char *stopped;
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!(step >= 0 && isfinite(time + step))) {
        return failed(c, fmi2Error, FOREVER, step);
    }
    UNIT->fresh = UNIT->fresh && UNIT->now.z[0] == time;
    UNIT->now.z[0] = time;
    stopped = unit_advance(UNIT, time + step);
    return stopped ? failed(c, fmi2Discard, stopped, UNIT->now.z[0]) : fmi2OK;
}

PUBLIC(fmi2Status, fmi2CancelStep)(fmi2Component c)
{
    return failed(c, fmi2Error, "steps are not asynchronous", 0);
}

PUBLIC(fmi2Status, fmi2SetRealInputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return n ? failed(c, fmi2Error, "inputs are held during a step, their derivatives are not used", 0) : fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetRealOutputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                 const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return n ? failed(c, fmi2Error, "derivatives of outputs are not given", 0) : fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)c;
    (void)kind;
    *value = fmi2OK;
    return fmi2OK;
}

PUBLIC(fmi2Status, fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    *value = UNIT->now.z[0];
    return kind == fmi2LastSuccessfulTime ? fmi2OK : fmi2Discard;
}

PUBLIC(fmi2Status, fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c;
    (void)kind;
    *value = 0;
    return fmi2Discard;
}

PUBLIC(fmi2Status, fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    *value = 0;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}

PUBLIC(fmi2Status, fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c;
    (void)kind;
    *value = "";
    return fmi2Discard;
}
