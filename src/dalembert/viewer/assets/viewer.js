// The page as a whole: unpack the data, keep the state, move by sliders, by the motion or by gravity.

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

class Motion {
  constructor(table, block) {
    this.count = table.count;
    this.start = table.start;
    for (const [name, [at, size]] of Object.entries(table.places)) this[name] = new Float32Array(block, table.base + at, size);
    this.duration = this.t[this.count - 1];
  }

  index(t) {
    let [low, high] = [0, this.count - 1];
    while (high - low > 1) { const middle = (low + high) >> 1; if (this.t[middle] <= t) low = middle; else high = middle; }
    return low;
  }

  // Positions between two samples; quaternions stay of unit length and turn the short way.
  at(t, nq, steps) {
    const k = this.index(t);
    const j = Math.min(k + 1, this.count - 1);
    const gap = this.t[j] - this.t[k];
    const f = gap > 0 ? Math.min(1, Math.max(0, (t - this.t[k]) / gap)) : 1;
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

// ------------------------------------------------------------------------------------------------------------ the page

async function unpackedBlock() {
  const text = atob(document.getElementById("block").textContent);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}

async function start() {
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const block = await unpackedBlock();
  const scene = data.scene;
  const machine = new Machine(scene, data.programs);
  const motion = data.motion ? new Motion(data.motion, block) : null;

  find("title").querySelector("h1").textContent = scene.name;
  const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;
  const facts = [many(scene.bodies.length, "body", "bodies"), many(scene.nv, "velocity", "velocities"), digits(scene.mass, "kg")];
  if (scene.constraints) facts.splice(2, 0, many(scene.constraints, "constraint", "constraints"));
  find("title").querySelector("p").textContent = facts.join(" · ");
  for (const note of data.notes) find("notes").querySelector("ul").append(element("li", { textContent: note }));
  find("notes").hidden = !data.notes.length;
  find("equations").hidden = !find("equations").querySelector(".content").textContent.trim();
  find("equations").open = matchMedia("(min-width: 761px)").matches && scene.nv <= 4;

  let stage = null;
  try {
    stage = new Stage(find("stage"), scene, data.meshes, block, data.facing);
  } catch (error) {
    find("failure").textContent = `This browser cannot draw in three dimensions: ${error.message}`;
    find("failure").hidden = false;
  }

  // ------------------------------------------------------------------------------------------------------ parts of it
  const plots = find("plots");
  let [forces, energies, bars, lively] = [null, null, null, null];
  const seek = (t) => { pause(); at(t); };
  if (motion) {
    const n = scene.nv;
    const column = (values, k) => Array.from({ length: motion.count }, (_, i) => values[i * n + k]);
    if (motion.tau && motion.tau.some((x) => x !== 0)) {
      forces = new Plot(plots, "Generalised forces of the drives", "N\u2009m, N", scene.velocities, seek);
      forces.series.forEach((s, k) => { s.values = column(motion.tau, k); });
    } else {
      plots.append(element("p", { className: "note", textContent: motion.tau ? "No drive acts in this motion." : "The forces of this motion are not known." }));
    }
    if (motion.kinetic) {
      energies = new Plot(plots, "Energy", "J", ["kinetic", "potential", "total"], seek);
      energies.series[0].values = Array.from(motion.kinetic);
      energies.series[1].values = Array.from(motion.potential);
      energies.series[2].values = energies.series[0].values.map((x, k) => x + motion.potential[k]);
    }
    for (const plot of [forces, energies]) if (plot) plot.t = Array.from(motion.t);
    find("timeline").hidden = motion.count < 2;
    find("scrub").max = motion.duration || 1;
  } else if (scene.nv) {
    bars = new Bars(plots, scene.constraints ? "Weight on the open tree (N\u2009m, N)" : "Holding forces (N\u2009m, N)", scene.velocities);
    lively = programs.fall ? new Plot(plots, "Energy", "J", ["kinetic", "potential", "total"], null) : null;
    if (lively) lively.canvas.parentElement.hidden = true;
  } else {
    find("curves").hidden = true;
  }
  const matrix = programs.inertia ? new Matrix(find("matrix"), scene.nv) : null;
  const sliders = new Sliders(find("sliders"), scene.coordinates, (row, value) => {
    pause(); rest();
    const followed = machine.move(row, value);
    draw(row);
    return followed;
  });

  // ------------------------------------------------------------------------------------------------------------ state
  const state = { playing: false, falling: false, time: 0, last: null, curves: true };

  function draw(touched = null) {
    const { poses, center } = machine.run("place", machine.q);
    if (stage) stage.update(poses, center);
    sliders.update(machine.q, touched);
    if (find("curves").open && bars) { const { tau, energy } = machine.run("hold", machine.q); bars.update(tau, energy[0]); }
    if (matrix && find("matrix").open) matrix.update(machine.run("inertia", machine.q).M);
    state.curves = true;
  }

  function at(t) {
    state.time = Math.min(Math.max(t, 0), motion.duration);
    machine.q = motion.at(state.time, scene.nq, scene.steps);
    machine.t[0] = motion.start + state.time;
    find("scrub").value = state.time;
    find("clock").textContent = `${(motion.start + state.time).toFixed(2)} / ${(motion.start + motion.duration).toFixed(2)} s`;
    draw();
  }

  function play() {
    rest();
    if (state.time >= motion.duration - 1e-9) state.time = 0;
    state.playing = true;
    state.last = null;
    find("play").classList.add("on");
  }

  function pause() { state.playing = false; find("play").classList.remove("on"); }

  function rest() {
    state.falling = false;
    machine.v.fill(0);
    find("fall").classList.remove("on");
    find("fall").textContent = "let go";
  }

  function drop() {
    pause();
    if (state.falling) { rest(); return; }
    state.falling = true;
    state.last = null;
    if (lively) { lively.t = []; for (const s of lively.series) s.values = []; lively.canvas.parentElement.hidden = false; }
    state.fallen = 0;
    find("fall").classList.add("on");
    find("fall").textContent = "stop";
  }

  function record(seconds) {
    state.fallen += seconds;
    if (!lively) return;
    const kinetic = machine.run("fall", machine.q, machine.v, machine.t).energy[0];
    const potential = machine.run("hold", machine.q).energy[0];
    lively.t.push(state.fallen);
    [kinetic, potential, kinetic + potential].forEach((x, k) => lively.series[k].values.push(x));
    if (lively.t.length > 600) { lively.t.shift(); for (const s of lively.series) s.values.shift(); }
  }

  function tick(stamp) {
    requestAnimationFrame(tick);
    const passed = state.last === null ? 0 : Math.min((stamp - state.last) / 1000, 0.1);
    state.last = stamp;
    if (state.playing) {
      const next = state.time + passed * Number(find("speed").value);
      at(next > motion.duration ? next % motion.duration : next);
    } else if (state.falling) {
      const going = machine.fall(passed);
      record(passed);
      draw();
      if (!going) rest();
    }
    if (state.curves && find("curves").open) {
      state.curves = false;
      if (motion) for (const plot of [forces, energies]) if (plot) plot.draw(state.time, motion.index(state.time));
      if (lively && lively.t.length) lively.draw(null, lively.t.length - 1);
    }
    if (stage) stage.render();
  }

  // ---------------------------------------------------------------------------------------------------------- controls
  if (stage) {
    if (motion && motion.count > 1) {
      const samples = Array.from({ length: motion.count }, (_, k) => motion.q.subarray(k * scene.nq, (k + 1) * scene.nq));
      stage.buildPath(samples.map((q) => Float64Array.from(machine.run("place", q).poses)));
    }
    const chips = find("show").querySelector(".chips");
    const names = { geometry: "Geometry", skeleton: "Skeleton", path: "Path", frames: "Frames", centres: "Centres of mass", ellipsoids: "Inertia ellipsoids", ground: "Ground" };
    for (const [name, title] of Object.entries(names)) {
      if (name !== "ground" && !stage.layers[name].length) continue;
      const chip = element("button", { textContent: title });
      const set = (on) => { chip.setAttribute("aria-pressed", on); stage.show(name, on); draw(); };
      chip.dataset.layer = name;
      chip.addEventListener("click", () => set(!stage.visible[name]));
      chips.append(chip);
    }
    const box = new THREE.Box3();
    let first = null;
    const count = motion ? 24 : 1;
    for (let k = 0; k < count; k++) {
      const q = motion ? motion.at((k / count) * motion.duration, scene.nq, scene.steps) : machine.q;
      const { poses, center } = machine.run("place", q);
      stage.update(poses, center);
      stage.settle();
      box.union(stage.bounds());
      first ??= { box: box.clone(), parts: stage.cloud.length };
    }
    stage.resize();
    const radius = (b) => b.getBoundingSphere(new THREE.Sphere()).radius;
    if (radius(box) > 4 * radius(first.box)) {  // it goes far: begin near it, and follow
      stage.cloud.length = first.parts;
      stage.frame(first.box, box.min.y, true);
    } else {
      stage.frame(box);
    }
    for (const chip of chips.children) {
      const on = stage.visible[chip.dataset.layer];
      chip.setAttribute("aria-pressed", on);
      stage.show(chip.dataset.layer, on);
    }
    new ResizeObserver(() => { stage.resize(); state.curves = true; }).observe(find("view"));
    find("home").addEventListener("click", () => stage.look());
  } else {
    find("show").hidden = find("home").hidden = true;
  }
  const stand = (q) => { pause(); rest(); machine.q = machine.closed(Float64Array.from(q)) || Float64Array.from(q); draw(); };
  const button = (id, action) => find(id).addEventListener("click", (event) => { event.preventDefault(); action(); });
  button("neutral", () => stand(scene.neutral));
  button("reset", () => (motion ? seek(0) : stand(scene.q)));
  find("fall").hidden = !programs.fall;
  button("fall", drop);
  find("fold").addEventListener("click", () => document.body.classList.toggle("folded"));
  for (const id of ["curves", "matrix"]) find(id).addEventListener("toggle", () => draw());
  DARK.addEventListener("change", () => { state.curves = true; });
  if (motion) {
    find("play").addEventListener("click", () => (state.playing ? pause() : play()));
    find("scrub").addEventListener("input", () => { pause(); rest(); at(Number(find("scrub").value)); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, summary")) return;
    if (event.key === " " && motion) { event.preventDefault(); state.playing ? pause() : play(); }
    else if (event.key === "h" && stage) stage.look();
    else if (event.key === "p") document.body.classList.toggle("folded");
  });

  if (motion) at(0); else draw();
  requestAnimationFrame(tick);
  if (motion && motion.count > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  // For scripts and tests: everything the buttons do.
  window.dalembert = { machine, motion, state, stage, at, play, pause, drop, stand };
}

start().catch((error) => {
  const failure = document.getElementById("failure");
  failure.textContent = `This page does not work in this browser: ${error.message}`;
  failure.hidden = false;
});
