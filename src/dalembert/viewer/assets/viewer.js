// The page as a whole: unpack the data, keep the state, move by sliders, by the motion or by gravity.

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
  const fit = () => {  // mathematics a little wider than the panel becomes smaller; what is much wider scrolls
    for (const box of find("equations").querySelectorAll(".scroll")) {
      box.style.fontSize = "";
      const share = box.clientWidth / box.scrollWidth;
      if (share < 1) box.style.fontSize = `${Math.max(75, 98 * share)}%`;
    }
  };
  find("equations").addEventListener("toggle", fit);
  new ResizeObserver(fit).observe(find("panel"));

  let stage = null;
  try {
    stage = new Stage(find("stage"), scene, data.meshes, block, data.facing);
  } catch (error) {
    find("failure").textContent = `This browser cannot draw in three dimensions: ${error.message}`;
    find("failure").hidden = false;
  }

  // ------------------------------------------------------------------------------------------------------ parts of it
  const plots = find("plots");
  const slides = scene.coordinates.map((c) => c.unit === "m");
  const unit = [slides.includes(false) && "N\u2009m", slides.includes(true) && "N"].filter(Boolean).join(", ");
  const small = 1e-9 * (Math.min(1, 10 * scene.mass * Math.min(1, scene.size)) || 1);  // beside weights and their moments
  let [forces, energies, bars, lively] = [null, null, null, null];
  const seek = (t) => { pause(); at(t); };
  if (motion) {
    const n = scene.nv;
    const column = (values, k) => Array.from({ length: motion.count }, (_, i) => values[i * n + k]);
    if (motion.tau && motion.tau.some((x) => x !== 0)) {
      forces = new Plot(plots, "Generalised forces of the drives", unit, scene.velocities, small, seek);
      forces.series.forEach((s, k) => { s.values = column(motion.tau, k); });
    } else {
      plots.append(element("p", { className: "note", textContent: motion.tau ? "No drive acts in this motion." : "The forces of this motion are not known." }));
    }
    if (motion.kinetic) {
      energies = new Plot(plots, "Energy", "J", ["kinetic", "potential", "total"], small, seek);
      energies.series[0].values = Array.from(motion.kinetic);
      energies.series[1].values = Array.from(motion.potential);
      energies.series[2].values = energies.series[0].values.map((x, k) => x + motion.potential[k]);
    }
    for (const plot of [forces, energies]) if (plot) plot.t = Array.from(motion.t);
    find("timeline").hidden = motion.count < 2;
    find("scrub").max = motion.duration || 1;
    offerSpeeds(find("speed"), motion.duration);
  } else if (scene.nv) {
    const weight = scene.constraints ? "Weight on the open tree" : scene.elements ? "Weight" : "Holding forces";
    bars = new Bars(plots, `${weight} (${unit})`, scene.velocities, small);
    lively = programs.fall ? new Plot(plots, "Energy", "J", ["kinetic", "potential", "total"], small, null) : null;
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
    if (touched && stage && stage.arrows) for (const arrow of stage.arrows) arrow.visible = false;  // forces of the motion only
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
    const places = Math.min(15, Math.max(2, Math.ceil(1 - Math.log10(motion.duration || 1))));
    if (stage && motion.touch) stage.showForces(motion.row("touch", state.time), motion.row("push", state.time), stage.visible.contacts);
    find("clock").textContent = `${(motion.start + state.time).toFixed(places)} / ${(motion.start + motion.duration).toFixed(places)} s`;
    draw();
  }

  function play() {
    rest();
    if (state.time >= motion.duration * (1 - 1e-9)) state.time = 0;
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
    const { energy, stored } = machine.run("fall", machine.q, machine.v, machine.t);
    const kinetic = energy[0], potential = machine.run("hold", machine.q).energy[0] + stored[0];
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
      if (motion) for (const plot of [forces, energies]) if (plot) plot.draw(state.time);
      if (lively && lively.t.length) lively.draw(null);
    }
    if (stage) stage.render();
  }

  // ---------------------------------------------------------------------------------------------------------- controls
  if (stage) {
    if (motion && motion.count > 1) {
      const samples = Array.from({ length: motion.count }, (_, k) => motion.q.subarray(k * scene.nq, (k + 1) * scene.nq));
      stage.buildPath(samples.map((q) => Float64Array.from(machine.run("place", q).poses)));
    }
    if (motion && motion.touch) stage.buildArrows(motion.touch.length / motion.count / 3);
    const chips = find("show").querySelector(".chips");
    const names = { geometry: "Geometry", skeleton: "Skeleton", path: "Path", frames: "Frames", centres: "Centres of mass", ellipsoids: "Inertia ellipsoids", collisions: "Collision shapes", surfaces: "Surfaces", contacts: "Contact forces", ground: "Ground" };
    for (const [name, title] of Object.entries(names)) {
      if (name !== "ground" && !stage.layers[name].length) continue;
      const chip = element("button", { textContent: title });
      const set = (on) => { chip.setAttribute("aria-pressed", on); stage.show(name, on); if (name === "contacts") at(state.time); else draw(); };
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
