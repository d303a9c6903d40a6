/* What FMI 2 and FMI 3 share: the values of one instance, their derivatives, and the integrator of co-simulation.

   "model.h", which is generated, gives the counts and start values, and the functions

       RATES(z, f)             derivatives of the states and the outputs
       DIRECTION(z, dz, df)    their directional derivative
       CORRECTION(z, x)        states nearer to the constraints, if there are any

   z holds time, states, inputs and parameters; f the derivatives of the states, then the outputs. A value reference is
   an index into z followed by f. */
#ifndef UNIT_H
#define UNIT_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum {
    STATES = 1,               /* where the states begin in z; time is before them */
    INPUTS = STATES + NX,
    PARAMETERS = INPUTS + NU,
    NZ = PARAMETERS + NP,     /* so many values are set from outside */
    NF = NX + NY,             /* so many are computed from them */
    NVALUES = NZ + NF
};

#define SHORTEST_STEP (64 * DBL_EPSILON)  /* relative to time: below it, adding a step is rounding */
#define CLOSED 1e-12                      /* m or rad: corrections below this are rounding */
#define DRIFT 1e-8                        /* m or rad: beyond it model exchange asks for an event, to correct states */
#define MOST_CORRECTIONS 100              /* of initial states; Newton's method needs four or five from nearby */

/* All that decides how an instance goes on: what FMI calls the state of an FMU. */
typedef struct {
    double z[NZ];
    double step;        /* the integrator's next step, s; 0 if it is to choose one */
    double tolerance;   /* of the integrator, relative and absolute */
} Memory;

typedef struct {
    Memory now;
    double f[NF ? NF : 1];
    int fresh;          /* whether f belongs to z */
} Unit;

static void unit_reset(Unit *unit)
{
    memset(unit, 0, sizeof *unit);
    memcpy(unit->now.z, START, sizeof unit->now.z);
    unit->now.tolerance = TOLERANCE;
}

static int all_finite(const double *x, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        if (!isfinite(x[k])) {
            return 0;
        }
    }
    return 1;
}

/* Computes what depends on z, if z has changed; 0 if accelerations are not finite there. */
static int unit_update(Unit *unit)
{
    if (!unit->fresh) {
        RATES(unit->now.z, unit->f);
        unit->fresh = 1;
    }
    return all_finite(unit->f, NX);
}

static int unit_set(Unit *unit, size_t reference, double value)
{
    if (reference >= NZ) {
        return 0;
    }
    unit->now.z[reference] = value;
    unit->fresh = 0;
    return 1;
}

static int unit_get(Unit *unit, size_t reference, double *value)
{
    if (reference >= NVALUES) {
        return 0;
    }
    if (reference >= NZ) {
        unit_update(unit);
    }
    *value = reference < NZ ? unit->now.z[reference] : unit->f[reference - NZ];
    return 1;
}

/* The derivatives of unknowns along a change of knowns; unknowns may be states as well, which are outputs, too. */
static int unit_direction(Unit *unit, const unsigned *unknowns, size_t count, const unsigned *knowns, size_t given,
                          const double *change, double *found)
{
    double dz[NZ], df[NF ? NF : 1];
    memset(dz, 0, sizeof dz);
    for (size_t k = 0; k < given; ++k) {
        if (knowns[k] >= NZ) {
            return 0;
        }
        dz[knowns[k]] += change[k];
    }
    DIRECTION(unit->now.z, dz, df);
    for (size_t k = 0; k < count; ++k) {
        if (unknowns[k] >= NVALUES) {
            return 0;
        }
        found[k] = unknowns[k] < NZ ? dz[unknowns[k]] : df[unknowns[k] - NZ];
    }
    return 1;
}

static void unit_length(double *z)
{
    (void)z;
#if NQUATERNIONS
    for (size_t k = 0; k < NQUATERNIONS; ++k) {
        double *e = z + STATES + QUATERNIONS[k];
        const double length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (size_t i = 0; i < 4; ++i) {
            e[i] /= length;
        }
    }
#endif
}

/* Quaternions of unit length, and one step of Newton's method towards the constraints. Returns the largest change that
   the constraints demanded, which is not finite if it cannot be found. */
static double unit_correct(double *z)
{
    unit_length(z);
#if CONSTRAINED
    double x[NX], largest = 0;
    CORRECTION(z, x);
    for (size_t k = 0; k < NX; ++k) {
        const double change = fabs(x[k] - z[STATES + k]);
        largest = change <= largest ? largest : change;  /* and NaN stays */
    }
    if (isfinite(largest)) {
        memcpy(z + STATES, x, sizeof x);
    }
    return largest;
#else
    return 0;
#endif
}

/* Initial states on the constraints; 0 if there is no way there from the given ones. */
static int unit_close(Unit *unit)
{
    double change = 0, size = 1;
    for (size_t k = 0; k < NX; ++k) {
        size = fmax(size, fabs(unit->now.z[STATES + k]));
    }
    unit->fresh = 0;
    for (int k = 0; k < MOST_CORRECTIONS; ++k) {
        change = unit_correct(unit->now.z);
        if (!(change > CLOSED * size)) {
            break;
        }
    }
    return change <= CLOSED * size;
}

/* Whether states have left the constraints by more than is worth a correction. */
static int unit_has_drifted(const Unit *unit)
{
#if CONSTRAINED
    double z[NZ];
    memcpy(z, unit->now.z, sizeof z);
    return unit_correct(z) > DRIFT;
#else
    (void)unit;
    return 0;
#endif
}

/* ------------------------------------------------------------------- the method of Dormand and Prince, orders 5 and 4

   J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6 (1980) 19-26. */

#define STAGES 7

static const double NODES[STAGES] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
static const double WEIGHTS[STAGES][STAGES - 1] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double ERRORS[STAGES] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525,
                                      -1.0 / 40};

/* One trial step from z to `next`; returns the error as a multiple of what is tolerated, not finite if there is none. */
static double trial_step(const Unit *unit, double step, double *next)
{
    double rates[STAGES][NX ? NX : 1], f[NF ? NF : 1], sum = 0;
    const double *z = unit->now.z;
    memcpy(next, z, sizeof unit->now.z);
    for (size_t s = 0; s < STAGES; ++s) {
        for (size_t k = 0; k < NX; ++k) {
            double change = 0;
            for (size_t i = 0; i < s; ++i) {
                change += WEIGHTS[s][i] * rates[i][k];
            }
            next[STATES + k] = z[STATES + k] + step * change;
        }
        next[0] = z[0] + step * NODES[s];
        if (s == 0 && unit->fresh) {
            memcpy(f, unit->f, sizeof f);
        } else {
            RATES(next, f);
        }
        if (!all_finite(f, NX)) {
            return NAN;
        }
        memcpy(rates[s], f, NX * sizeof(double));
    }
    for (size_t k = 0; k < NX; ++k) {
        double error = 0;
        const double size = fmax(fabs(z[STATES + k]), fabs(next[STATES + k]));
        for (size_t s = 0; s < STAGES; ++s) {
            error += ERRORS[s] * rates[s][k];
        }
        error *= step / (unit->now.tolerance * (1 + size));
        sum += error * error;
    }
    return NX ? sqrt(sum / NX) : 0;
}

#define STUCK \
    "at time %.17g s accelerations are not finite or change too fast: a singular configuration, constraints that " \
    "contradict each other, or parameters without meaning"
#define TOO_LONG \
    "the communication step is too long: it takes more than 1000000 steps of the integrator, which has come to %.17g s; " \
    "give a shorter one"
#define MOST_STEPS 1000000
#define FOREVER "the communication step must be finite, not negative and end at a finite time; it is %g s"

/* Integrates until a time, with inputs as they are; says why if it stops before, at the time it has come to. */
static const char *unit_advance(Unit *unit, double until)
{
    double *z = unit->now.z, next[NZ];
    long steps = MOST_STEPS;
    double step = unit->now.step > 0 ? unit->now.step : 1e-3;
    if (!unit_update(unit)) {
        return STUCK;
    }
    while (z[0] < until) {
        const double shortest = SHORTEST_STEP * fmax(1e-3, fmax(fabs(z[0]), fabs(until)));
        if (!steps--) {
            return TOO_LONG;
        }
        const double left = until - z[0];
        const int last = step >= left * (1 - 1e-9);
        const double taken = last ? left : step;
        const double error = trial_step(unit, taken, next);
        if (error <= 1) {
            next[0] = last ? until : z[0] + taken;
            if (!isfinite(unit_correct(next))) {
                return STUCK;
            }
            memcpy(z, next, sizeof next);
            unit->fresh = 0;
            if (!unit_update(unit)) {
                return STUCK;
            }
        } else if (taken <= shortest) {
            return STUCK;
        }
        /* of order five; NaN of a step that went too far shortens the next one */
        const double growth = isfinite(error) ? 0.9 * pow(fmax(error, 1e-10), -0.2) : 0.2;
        const double wished = taken * fmin(5, fmax(0.2, growth));
        step = last && error <= 1 ? fmax(step, wished) : wished;
    }
    unit->now.step = step;
    return NULL;
}

#define OPEN "the initial positions and velocities do not satisfy the constraints, and none that do are found from them"

#endif
