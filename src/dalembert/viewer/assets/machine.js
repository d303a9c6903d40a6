// What moves: positions and their arithmetic, closed loops, falling, and recorded motions.

// ---------------------------------------------------------------------------------------------- arithmetic of positions

function quaternionExp(w) {
  const angle = Math.hypot(w[0], w[1], w[2]);
  const s = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
  return [s * w[0], s * w[1], s * w[2], Math.cos(angle / 2)];
}

function quaternionProduct(a, b) {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];
}

function rotationVector(q, k) {
  const sign = q[k + 3] < 0 ? -1 : 1;
  const s = Math.hypot(q[k], q[k + 1], q[k + 2]);
  const factor = s > 1e-9 ? (2 * Math.atan2(s, sign * q[k + 3])) / s : 2;
  return [sign * factor * q[k], sign * factor * q[k + 1], sign * factor * q[k + 2]];
}

// Positions displaced along a tangent vector: what this velocity would do in unit time.
function displaced(steps, q, step) {
  const moved = Float64Array.from(q);
  for (const { kind, q: k, v } of steps) {
    if (kind !== "spherical") { moved[k] += step[v]; continue; }
    const turned = quaternionProduct(moved.subarray(k, k + 4), quaternionExp([step[v], step[v + 1], step[v + 2]]));
    const length = Math.hypot(...turned);
    for (let i = 0; i < 4; i++) moved[k + i] = turned[i] / length;
  }
  return moved;
}

// Solve A x = b with pivoting; A is a list of rows and is overwritten.
function solve(A, b) {
  const n = b.length;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let r = k + 1; r < n; r++) if (Math.abs(A[r][k]) > Math.abs(A[best][k])) best = r;
    [A[k], A[best]] = [A[best], A[k]];
    [b[k], b[best]] = [b[best], b[k]];
    if (A[k][k] === 0) continue;
    for (let r = k + 1; r < n; r++) {
      const factor = A[r][k] / A[k][k];
      for (let c = k; c < n; c++) A[r][c] -= factor * A[k][c];
      b[r] -= factor * b[k];
    }
  }
  const x = new Float64Array(n);
  for (let k = n - 1; k >= 0; k--) {
    let sum = b[k];
    for (let c = k + 1; c < n; c++) sum -= A[k][c] * x[c];
    x[k] = A[k][k] === 0 ? 0 : sum / A[k][k];
  }
  return x;
}

// --------------------------------------------------------------------------------------------------------- the mechanism

class Machine {
  constructor(scene, sizes) {
    this.scene = scene;
    this.q = Float64Array.from(scene.q);
    this.v = new Float64Array(scene.nv);
    this.t = [0];
    this.out = {};
    for (const [name, ports] of Object.entries(sizes)) {
      this.out[name] = Object.fromEntries(Object.entries(ports).map(([port, size]) => [port, new Float64Array(size)]));
    }
  }

  run(name, ...inputs) {
    programs[name](...inputs, ...Object.values(this.out[name]));
    return this.out[name];
  }

  // Damped Gauss-Newton steps of least length onto the closures; null if they cannot be reached from here.
  closed(q, held = []) {
    if (!programs.close) return q;
    const n = this.scene.nv;
    for (let round = 0; round < 40; round++) {
      const { phi, G } = this.run("close", q, this.t);
      const m = phi.length;
      if (Math.max(...phi.map(Math.abs)) < 1e-9 * Math.max(1, this.scene.size)) return q;
      const free = (k) => !held.includes(k);
      const A = [];
      let trace = 0;
      for (let r = 0; r < m; r++) {
        A.push(new Float64Array(m));
        for (let c = 0; c < m; c++) for (let k = 0; k < n; k++) if (free(k)) A[r][c] += G[r * n + k] * G[c * n + k];
        trace += A[r][r];
      }
      for (let r = 0; r < m; r++) A[r][r] += 1e-10 * trace + 1e-300;
      const y = solve(A, phi.map((x) => -x));
      const step = new Float64Array(n);
      for (let k = 0; k < n; k++) if (free(k)) for (let r = 0; r < m; r++) step[k] += G[r * n + k] * y[r];
      const longest = Math.max(...step.map(Math.abs));
      if (!Number.isFinite(longest)) return null;
      const short = Math.min(1, 0.3 / longest);
      q = displaced(this.scene.steps, q, step.map((x) => x * short));
    }
    return null;
  }

  // Move one coordinate to a value, in small steps so that loops stay in the same assembly.
  move(row, value) {
    const c = row.coordinate;
    let goal = Float64Array.from(this.q);
    if (row.part >= 0) {
      const w = rotationVector(this.q, c.q);
      w[row.part] = value;
      goal.set(quaternionExp(w), c.q);
    } else if (!programs.close) {
      goal[c.q] = value;
    } else {
      const count = Math.min(200, Math.max(1, Math.ceil(Math.abs(value - this.q[c.q]) / 0.05)));
      const from = this.q[c.q];
      for (let k = 1; k <= count; k++) {
        const next = Float64Array.from(goal);
        next[c.q] = from + ((value - from) * k) / count;
        const found = this.closed(next, [c.v]);
        if (!found) { this.q = goal; return false; }
        goal = found;
      }
    }
    const found = row.part >= 0 ? this.closed(goal, [c.v, c.v + 1, c.v + 2]) : goal;
    if (!found) return false;
    this.q = found;
    return true;
  }

  // Semi-implicit steps under gravity, back onto the closures after each picture.
  fall(seconds) {
    const h = 1 / 2000;
    for (let done = 0; done < seconds; done += h) {
      const { a } = this.run("fall", this.q, this.v, this.t);
      for (let k = 0; k < this.v.length; k++) this.v[k] += h * a[k];
      if (!this.v.every((x) => Math.abs(x) < 1e6)) return false;
      this.q = displaced(this.scene.steps, this.q, this.v.map((x) => h * x));
      this.t[0] += h;
    }
    this.q = this.closed(this.q) || this.q;
    return true;
  }
}

// ---------------------------------------------------------------------------------------------------------- the motion

// The samples on both sides of a time, and the share of the way from one to the other.
function between(times, t) {
  const last = times.length - 1;
  let [low, high] = [0, last];
  while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= t) low = middle; else high = middle; }
  const next = Math.min(low + 1, last);
  const gap = times[next] - times[low];
  return [low, next, gap > 0 ? Math.min(1, Math.max(0, (t - times[low]) / gap)) : 1];
}

class Motion {
  constructor(table, block) {
    this.count = table.count;
    this.start = table.start;
    for (const [name, [at, size]] of Object.entries(table.places)) this[name] = new Float32Array(block, table.base + at, size);
    this.duration = this.t[this.count - 1];
  }

  // One curve's values at the sample nearest to a time.
  row(name, t) {
    const [k, j, f] = between(this.t, t);
    const width = this[name].length / this.count;
    const at = (f < 0.5 ? k : j) * width;
    return this[name].subarray(at, at + width);
  }

  // Positions between two samples; quaternions stay of unit length and turn the short way.
  at(t, nq, steps) {
    const [k, j, f] = between(this.t, t);
    const q = new Float64Array(nq);
    const [a, b] = [this.q.subarray(k * nq, (k + 1) * nq), this.q.subarray(j * nq, (j + 1) * nq)];
    for (let i = 0; i < nq; i++) q[i] = a[i] + f * (b[i] - a[i]);
    for (const step of steps) {
      if (step.kind !== "spherical") continue;
      const i = step.q;
      const sign = a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] < 0 ? -1 : 1;
      for (let c = i; c < i + 4; c++) q[c] = (1 - f) * a[c] + sign * f * b[c];
      const length = Math.hypot(q[i], q[i + 1], q[i + 2], q[i + 3]);
      for (let c = i; c < i + 4; c++) q[c] /= length;
    }
    return q;
  }
}
