// The panel: sliders, plots, bars and the inertia matrix. All names are put in as text.

const PALETTE = ["#2a78c8", "#e0592a", "#2f9e57", "#a04fc0", "#d69a13", "#14a3a8", "#d6457f", "#7a6f5d", "#5560d0", "#7fa52a"];

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// What is below ``small`` is rounding.
function digits(x, unit = "", small = 1e-9) {
  const size = Math.abs(x) < small ? 0 : Math.abs(x);
  const text = size >= 1e5 || (size > 0 && size < 1e-3) ? x.toExponential(1) : (size && x).toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
  return (Number(text) === 0 ? text.replace("-", "") : text).replaceAll("-", "\u2212") + (unit && `\u2009${unit}`);
}

// More speeds for motions that are over in a moment, or last for hours; what nobody could see begins slowly.
function offerSpeeds(select, duration) {
  if (!duration) return;
  const option = (speed) => element("option", { value: speed, textContent: `${speed}\u00d7` });
  for (let speed = 0.01; duration / speed < 100; speed /= 10) select.prepend(option(Number(speed.toPrecision(1))));
  for (let speed = 10; duration / speed > 5; speed *= 10) select.append(option(speed));
  if (duration < 0.1) select.value = String(Number((10 ** Math.floor(Math.log10(duration))).toPrecision(1)));
}

// ------------------------------------------------------------------------------------------------------------- sliders

class Sliders {
  // ``moved(coordinate, value)`` is called when a user moves a slider; it returns false if the mechanism cannot follow.
  constructor(home, coordinates, moved) {
    this.rows = [];
    for (const c of coordinates) {
      if (c.unit === "quaternion") {
        for (const [k, axis] of [[0, "x"], [1, "y"], [2, "z"]]) this.row(home, `${c.name}: turn about ${axis}`, c, -Math.PI, Math.PI, "rad", k, moved);
      } else {
        this.row(home, c.name, c, c.low, c.high, c.unit, -1, moved);
      }
    }
    if (!this.rows.length) home.append(element("p", { className: "note", textContent: "Nothing moves." }));
  }

  row(home, name, coordinate, low, high, unit, part, moved) {
    const id = `slider-${this.rows.length}`;
    const label = element("label", { textContent: name, title: name, htmlFor: id });
    const output = element("output", { htmlFor: id });
    const input = element("input", { type: "range", id, min: low, max: high, step: "any" });
    const holder = element("div", { className: "slider" }, label, output, input);
    const row = { coordinate, part, input, output, holder, unit, low, high };
    input.addEventListener("input", () => holder.classList.toggle("stuck", moved(row, Number(input.value)) === false));
    home.append(holder);
    this.rows.push(row);
  }

  update(q, touched) {
    for (const row of this.rows) {
      const x = row.part < 0 ? q[row.coordinate.q] : rotationVector(q, row.coordinate.q)[row.part];
      if (row !== touched) {
        if (row.part < 0 && row.unit === "m" && (x < row.low || x > row.high)) {  // what flies away keeps its slider
          if (x < row.low) row.input.min = row.low = x * 2; else row.input.max = row.high = x * 2;
        }
        const turns = row.unit === "rad" && row.part < 0 && row.high - row.low > 6.28 ? Math.round(x / (2 * Math.PI)) : 0;
        row.input.value = x - 2 * Math.PI * turns;
        row.holder.classList.remove("stuck");
      }
      row.output.textContent = digits(x, row.unit);
      row.output.title = row.unit === "rad" ? `${digits((x * 180) / Math.PI)}\u00b0` : "";
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- plots

class Plot {
  constructor(home, title, unit, names, small, seek) {
    this.small = small;
    this.series = names.map((name, k) => ({ name, colour: PALETTE[k % PALETTE.length], values: [] }));
    this.t = [];
    this.canvas = element("canvas");
    this.legend = element("div", { className: "legend" });
    for (const s of this.series.slice(0, 24)) {
      const dot = element("i");
      dot.style.background = s.colour;
      s.text = element("span");
      this.legend.append(element("span", { title: s.name }, dot, s.text));
    }
    home.append(element("div", { className: "plot" }, element("h3", { textContent: `${title} (${unit})` }), this.canvas, this.legend));
    if (seek) {
      const at = (event) => {
        const box = this.canvas.getBoundingClientRect();
        const [from, to] = this.span();
        seek(from + ((event.clientX - box.left) / box.width) * (to - from));
      };
      this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); at(event); });
      this.canvas.addEventListener("pointermove", (event) => { if (event.buttons) at(event); });
    }
  }

  span() { return this.t.length ? [this.t[0], Math.max(this.t[this.t.length - 1], this.t[0] + 1e-15)] : [0, 1]; }

  // The curve of a series at a time, straight between samples as it is drawn; its end without a time.
  value(s, now) {
    if (now === null) return s.values[s.values.length - 1];
    const [k, j, f] = between(this.t, now);
    return s.values[k] + f * (s.values[j] - s.values[k]);
  }

  draw(now) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio)) { this.canvas.width = Math.round(width * ratio); this.canvas.height = Math.round(height * ratio); }
    const c = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const [line, soft, ink] = ["--line", "--soft", "--ink"].map((name) => style.getPropertyValue(name).trim());
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    let [low, high] = [0, 0];
    for (const s of this.series) for (const y of s.values) { if (y < low) low = y; if (y > high) high = y; }
    if (high - low <= this.small) { high += 1; low -= 1; }
    const pad = 0.07 * (high - low);
    const [from, to] = this.span();
    const x = (t) => ((t - from) / (to - from)) * width;
    const y = (v) => height - 12 - ((v - low + pad) / (high - low + 2 * pad)) * (height - 14);
    c.strokeStyle = line;
    c.fillStyle = soft;
    c.font = "10px system-ui, sans-serif";
    c.lineWidth = 1;
    for (const v of ticks(low, high)) {
      c.beginPath(); c.moveTo(0, y(v)); c.lineTo(width, y(v)); c.stroke();
    }
    c.fillText(`${digits(from, "", 0)} s`, 2, height - 1);
    const end = `${digits(to, "", 0)} s`;
    c.fillText(end, width - c.measureText(end).width - 2, height - 1);
    c.lineWidth = 1.6;
    c.lineJoin = "round";
    for (const s of this.series) {
      c.strokeStyle = s.colour;
      c.beginPath();
      s.values.forEach((v, k) => c.lineTo(x(this.t[k]), y(v)));
      c.stroke();
    }
    c.strokeStyle = style.getPropertyValue("--paper").trim();  // numbers stand out from the curves
    c.lineWidth = 3;
    for (const v of ticks(low, high)) {
      const text = String(v).replace("-", "\u2212");
      c.strokeText(text, 2, y(v) - 2);
      c.fillText(text, 2, y(v) - 2);
    }
    if (now !== null) {
      c.strokeStyle = ink;
      c.lineWidth = 1;
      c.beginPath(); c.moveTo(x(now), 0); c.lineTo(x(now), height - 12); c.stroke();
    }
    for (const s of this.series) {
      if (s.text && s.values.length) s.text.textContent = `${s.name} ${digits(this.value(s, now), "", this.small)}`;
    }
  }
}

function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((k) => k * power >= rough) * power;
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(Number(v.toPrecision(6)));
  return found;
}

class Bars {
  constructor(home, title, names, small) {
    this.title = element("h3", { textContent: title });
    const grid = element("div", { className: "bars" });
    this.rows = names.map((name, k) => {
      const bar = element("i");
      bar.style.background = PALETTE[k % PALETTE.length];
      const value = element("b");
      grid.append(element("span", { textContent: name, title: name }), element("div", {}, bar), value);
      return { bar, value };
    });
    this.energy = element("p", { className: "note" });
    this.holder = element("div", {}, this.title, grid, this.energy);
    this.largest = this.small = small;
    home.append(this.holder);
  }

  update(values, energy) {
    for (const x of values) this.largest = Math.max(this.largest, Math.abs(x));
    this.rows.forEach(({ bar, value }, k) => {
      const part = (50 * values[k]) / this.largest;
      bar.style.left = `${Math.min(50, 50 + part)}%`;
      bar.style.width = `${Math.abs(part)}%`;
      value.textContent = digits(values[k], "", this.small);
    });
    this.energy.textContent = `Potential energy of weight ${digits(energy, "J", this.small)}`;
  }
}

class Matrix {
  constructor(home, n) {
    this.n = n;
    this.cells = [];
    const table = home.querySelector("table");
    for (let r = 0; r < n; r++) {
      const row = element("tr");
      for (let c = 0; c < n; c++) { const cell = element("td"); row.append(cell); this.cells.push(cell); }
      table.append(row);
    }
    home.hidden = false;
  }

  update(M) {
    let largest = 1e-300;
    for (const x of M) largest = Math.max(largest, Math.abs(x));
    this.cells.forEach((cell, k) => {
      cell.textContent = digits(M[k], "", 1e-9 * Math.min(1, largest));
      const strength = Math.round(55 * Math.sqrt(Math.abs(M[k]) / largest));
      cell.style.background = `color-mix(in srgb, var(${M[k] < 0 ? "--accent" : "--blue"}) ${strength}%, transparent)`;
    });
  }
}
