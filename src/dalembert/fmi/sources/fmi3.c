/* The functions of FMI 3.0 for model exchange and co-simulation, around unit.h. */

#include <stdbool.h>
#include <stdint.h>

#include "unit.h"

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef int fmi3DependencyKind;
typedef int fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3LockPreemptionCallback)(void);

/* Linked statically, several FMUs live in one program, each with its own prefix. */
#if defined(FMI3_FUNCTION_PREFIX) && !defined(FMI3_OVERRIDE_FUNCTION_PREFIX)
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define NAMED(name) JOINED(FMI3_FUNCTION_PREFIX, name)
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
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Instance;

#define UNIT (&((Instance *)c)->unit)

static fmi3Status failed(fmi3Instance c, fmi3Status status, const char *format, double number)
{
    Instance *instance = c;
    char text[400];
    snprintf(text, sizeof text, format, number);
    if (instance->log) {
        instance->log(instance->environment, status, status == fmi3Discard ? "logStatusDiscard" : "logStatusError",
                      text);
    }
    return status;
}

PUBLIC(const char *, fmi3GetVersion)(void)
{
    return "3.0";
}

PUBLIC(fmi3Status, fmi3SetDebugLogging)(fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    (void)c;
    (void)on;
    (void)n;
    (void)categories;
    return fmi3OK;
}

PUBLIC(void, fmi3FreeInstance)(fmi3Instance c)
{
    free(c);
}

static fmi3Instance instantiated(fmi3String token, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    Instance *instance = calloc(1, sizeof *instance);
    if (!instance) {
        return NULL;
    }
    instance->environment = environment;
    instance->log = log;
    if (!token || strcmp(token, TOKEN) != 0) {
        failed(instance, fmi3Error, "the instantiation token of the model description is not that of the binary", 0);
        free(instance);
        return NULL;
    }
    unit_reset(&instance->unit);
    return instance;
}

PUBLIC(fmi3Instance, fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources,
                                                   fmi3Boolean visible, fmi3Boolean logging,
                                                   fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name;
    (void)resources;
    (void)visible;
    (void)logging;
    return instantiated(token, environment, log);
}

PUBLIC(fmi3Instance, fmi3InstantiateCoSimulation)(fmi3String name, fmi3String token, fmi3String resources,
                                                  fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean eventMode,
                                                  fmi3Boolean earlyReturn, const fmi3ValueReference intermediate[],
                                                  size_t n, fmi3InstanceEnvironment environment,
                                                  fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    (void)name;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)eventMode;
    (void)earlyReturn;
    (void)intermediate;
    (void)n;
    (void)update;
    return instantiated(token, environment, log);
}

PUBLIC(fmi3Instance, fmi3InstantiateScheduledExecution)(fmi3String name, fmi3String token, fmi3String resources,
                                                        fmi3Boolean visible, fmi3Boolean logging,
                                                        fmi3InstanceEnvironment environment,
                                                        fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
                                                        fmi3LockPreemptionCallback lock,
                                                        fmi3LockPreemptionCallback unlock)
{
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)update;
    (void)lock;
    (void)unlock;
    if (log) {
        log(environment, fmi3Error, "logStatusError", "there is no scheduled execution of this unit");
    }
    return NULL;
}

PUBLIC(fmi3Status, fmi3EnterInitializationMode)(fmi3Instance c, fmi3Boolean hasTolerance, fmi3Float64 tolerance,
                                                fmi3Float64 start, fmi3Boolean hasStop, fmi3Float64 stop)
{
    (void)hasStop;
    (void)stop;
    if (hasTolerance && !(tolerance > 0)) {
        return failed(c, fmi3Error, "the tolerance is %g; it must be positive", tolerance);
    }
    if (hasTolerance) {
        UNIT->now.tolerance = tolerance;
    }
    unit_set(UNIT, 0, start);
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3ExitInitializationMode)(fmi3Instance c)
{
    return unit_close(UNIT) ? fmi3OK : failed(c, fmi3Error, OPEN, 0);
}

#define NOTHING(name) \
    PUBLIC(fmi3Status, name)(fmi3Instance c) \
    { \
        (void)c; \
        return fmi3OK; \
    }

NOTHING(fmi3EnterEventMode)
NOTHING(fmi3Terminate)
NOTHING(fmi3EnterConfigurationMode)
NOTHING(fmi3ExitConfigurationMode)
NOTHING(fmi3EvaluateDiscreteStates)
NOTHING(fmi3EnterContinuousTimeMode)
NOTHING(fmi3EnterStepMode)

PUBLIC(fmi3Status, fmi3Reset)(fmi3Instance c)
{
    unit_reset(UNIT);
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetFloat64)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[],
                                   size_t count)
{
    (void)count;
    for (size_t k = 0; k < n; ++k) {
        if (!unit_get(UNIT, vr[k], value + k)) {
            return failed(c, fmi3Error, "there is no variable %.0f", vr[k]);
        }
    }
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetFloat64)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                                   size_t count)
{
    (void)count;
    for (size_t k = 0; k < n; ++k) {
        if (!unit_set(UNIT, vr[k], value[k])) {
            return failed(c, fmi3Error, "the variable %.0f cannot be set", vr[k]);
        }
    }
    return fmi3OK;
}

#define ONLY "all variables are of type Float64"
#define NONE(Kind, type) \
    PUBLIC(fmi3Status, fmi3Get##Kind)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, type value[], \
                                      size_t count) \
    { \
        (void)vr; \
        (void)value; \
        (void)count; \
        return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK; \
    } \
    PUBLIC(fmi3Status, fmi3Set##Kind)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const type value[], \
                                      size_t count) \
    { \
        (void)vr; \
        (void)value; \
        (void)count; \
        return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK; \
    }

NONE(Float32, fmi3Float32)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, fmi3Boolean)
NONE(String, fmi3String)

PUBLIC(fmi3Status, fmi3GetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                                  fmi3Binary value[], size_t count)
{
    (void)vr;
    (void)sizes;
    (void)value;
    (void)count;
    return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                                  const fmi3Binary value[], size_t count)
{
    (void)vr;
    (void)sizes;
    (void)value;
    (void)count;
    return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock value[])
{
    (void)vr;
    (void)value;
    return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[])
{
    (void)vr;
    (void)value;
    return n ? failed(c, fmi3Error, ONLY, 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetNumberOfVariableDependencies)(fmi3Instance c, fmi3ValueReference vr, size_t *n)
{
    (void)vr;
    *n = 0;
    return failed(c, fmi3Error, "dependencies are those of the model description", 0);
}

PUBLIC(fmi3Status, fmi3GetVariableDependencies)(fmi3Instance c, fmi3ValueReference dependent,
                                                size_t dependentElements[], fmi3ValueReference independents[],
                                                size_t independentElements[], fmi3DependencyKind kinds[], size_t n)
{
    (void)dependent;
    (void)dependentElements;
    (void)independents;
    (void)independentElements;
    (void)kinds;
    (void)n;
    return failed(c, fmi3Error, "dependencies are those of the model description", 0);
}

PUBLIC(fmi3Status, fmi3GetFMUState)(fmi3Instance c, fmi3FMUState *state)
{
    if (!*state) {
        *state = malloc(sizeof(Memory));
    }
    if (!*state) {
        return failed(c, fmi3Error, "no memory", 0);
    }
    memcpy(*state, &UNIT->now, sizeof(Memory));
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetFMUState)(fmi3Instance c, fmi3FMUState state)
{
    memcpy(&UNIT->now, state, sizeof(Memory));
    UNIT->fresh = 0;
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3FreeFMUState)(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SerializedFMUStateSize)(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(Memory);
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SerializeFMUState)(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (size < sizeof(Memory)) {
        return failed(c, fmi3Error, "a serialised state takes %.0f bytes", (double)sizeof(Memory));
    }
    memcpy(bytes, state, sizeof(Memory));
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3DeserializeFMUState)(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    if (size != sizeof(Memory)) {
        return failed(c, fmi3Error, "a serialised state takes %.0f bytes", (double)sizeof(Memory));
    }
    if (!*state) {
        *state = malloc(sizeof(Memory));
    }
    if (!*state) {
        return failed(c, fmi3Error, "no memory", 0);
    }
    memcpy(*state, bytes, sizeof(Memory));
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetDirectionalDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t count,
                                                 const fmi3ValueReference knowns[], size_t given,
                                                 const fmi3Float64 seed[], size_t nSeed, fmi3Float64 sensitivity[],
                                                 size_t nSensitivity)
{
    (void)nSeed;
    (void)nSensitivity;
    if (!unit_direction(UNIT, unknowns, count, knowns, given, seed, sensitivity)) {
        return failed(c, fmi3Error, "a directional derivative of, or along, a variable that has none", 0);
    }
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetAdjointDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t count,
                                             const fmi3ValueReference knowns[], size_t given,
                                             const fmi3Float64 seed[], size_t nSeed, fmi3Float64 sensitivity[],
                                             size_t nSensitivity)
{
    (void)unknowns;
    (void)count;
    (void)knowns;
    (void)given;
    (void)seed;
    (void)nSeed;
    (void)sensitivity;
    (void)nSensitivity;
    return failed(c, fmi3Error, "there are directional derivatives, no adjoint ones", 0);
}

#define NO_CLOCKS(name, first, second, constant) \
    PUBLIC(fmi3Status, name)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, constant first a[], \
                             constant second b[]) \
    { \
        (void)vr; \
        (void)a; \
        (void)b; \
        return n ? failed(c, fmi3Error, "there are no clocks", 0) : fmi3OK; \
    }

#define CHANGED
NO_CLOCKS(fmi3GetIntervalDecimal, fmi3Float64, fmi3IntervalQualifier, CHANGED)
NO_CLOCKS(fmi3GetShiftFraction, uint64_t, uint64_t, CHANGED)
NO_CLOCKS(fmi3SetIntervalFraction, uint64_t, uint64_t, const)
NO_CLOCKS(fmi3SetShiftFraction, uint64_t, uint64_t, const)

PUBLIC(fmi3Status, fmi3GetIntervalFraction)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                            uint64_t counters[], uint64_t resolutions[],
                                            fmi3IntervalQualifier qualifiers[])
{
    (void)vr;
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    return n ? failed(c, fmi3Error, "there are no clocks", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetShiftDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shifts[])
{
    (void)vr;
    (void)shifts;
    return n ? failed(c, fmi3Error, "there are no clocks", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetIntervalDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                           const fmi3Float64 intervals[])
{
    (void)vr;
    (void)intervals;
    return n ? failed(c, fmi3Error, "there are no clocks", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetShiftDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                        const fmi3Float64 shifts[])
{
    (void)vr;
    (void)shifts;
    return n ? failed(c, fmi3Error, "there are no clocks", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3ActivateModelPartition)(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)clock;
    (void)time;
    return failed(c, fmi3Error, "there are no clocks", 0);
}

PUBLIC(fmi3Status, fmi3UpdateDiscreteStates)(fmi3Instance c, fmi3Boolean *needed, fmi3Boolean *terminate,
                                             fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *timeDefined,
                                             fmi3Float64 *time)
{
    *needed = *terminate = *nominals = *values = *timeDefined = false;
    *time = 0;
    if (unit_has_drifted(UNIT)) {
        if (!unit_close(UNIT)) {
            return failed(c, fmi3Error, OPEN, 0);
        }
        *values = true;
    }
    return fmi3OK;
}

/* -------------------------------------------------------------------------------------------------- model exchange */

PUBLIC(fmi3Status, fmi3CompletedIntegratorStep)(fmi3Instance c, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                                fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    *enterEventMode = unit_has_drifted(UNIT) != 0;
    *terminateSimulation = false;
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetTime)(fmi3Instance c, fmi3Float64 time)
{
    unit_set(UNIT, 0, time);
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3SetContinuousStates)(fmi3Instance c, const fmi3Float64 x[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi3Error, "there are %.0f continuous states", NX);
    }
    memcpy(UNIT->now.z + STATES, x, n * sizeof(double));
    UNIT->fresh = 0;
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetContinuousStateDerivatives)(fmi3Instance c, fmi3Float64 rates[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi3Error, "there are %.0f continuous states", NX);
    }
    if (!unit_update(UNIT)) {
        return failed(c, fmi3Discard, STUCK, UNIT->now.z[0]);
    }
    memcpy(rates, UNIT->f, n * sizeof(double));
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetEventIndicators)(fmi3Instance c, fmi3Float64 indicators[], size_t n)
{
    (void)indicators;
    return n ? failed(c, fmi3Error, "there are no event indicators", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetContinuousStates)(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    if (n != NX) {
        return failed(c, fmi3Error, "there are %.0f continuous states", NX);
    }
    memcpy(x, UNIT->now.z + STATES, n * sizeof(double));
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetNominalsOfContinuousStates)(fmi3Instance c, fmi3Float64 nominal[], size_t n)
{
    (void)c;
    for (size_t k = 0; k < n; ++k) {
        nominal[k] = 1;
    }
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetNumberOfEventIndicators)(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = 0;
    return fmi3OK;
}

PUBLIC(fmi3Status, fmi3GetNumberOfContinuousStates)(fmi3Instance c, size_t *n)
{
    (void)c;
    *n = NX;
    return fmi3OK;
}

/* --------------------------------------------------------------------------------------------------- co-simulation */

PUBLIC(fmi3Status, fmi3GetOutputDerivatives)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                             const int32_t orders[], fmi3Float64 value[], size_t count)
{
    (void)vr;
    (void)orders;
    (void)value;
    (void)count;
    return n ? failed(c, fmi3Error, "derivatives of outputs are not given", 0) : fmi3OK;
}

PUBLIC(fmi3Status, fmi3DoStep)(fmi3Instance c, fmi3Float64 time, fmi3Float64 step,
                               fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                               fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn,
                               fmi3Float64 *lastSuccessfulTime)
{
    const char *stopped;
    (void)noSetFMUStatePriorToCurrentPoint;
    *eventHandlingNeeded = *terminateSimulation = *earlyReturn = false;
    *lastSuccessfulTime = time;
    if (!(step >= 0 && isfinite(time + step))) {
        return failed(c, fmi3Error, FOREVER, step);
    }
    UNIT->fresh = UNIT->fresh && UNIT->now.z[0] == time;
    UNIT->now.z[0] = time;
    stopped = unit_advance(UNIT, time + step);
    *lastSuccessfulTime = UNIT->now.z[0];
    return stopped ? failed(c, fmi3Discard, stopped, UNIT->now.z[0]) : fmi3OK;
}
