// The mechanism in three dimensions: geometry, skeleton, frames, centres of mass and ellipsoids on moving links.
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

function matrixOf(at, offset = 0) {
  const k = offset;
  return new THREE.Matrix4().set(
    at[k], at[k + 1], at[k + 2], at[k + 9], at[k + 3], at[k + 4], at[k + 5], at[k + 10],
    at[k + 6], at[k + 7], at[k + 8], at[k + 11], 0, 0, 0, 1);
}

function placed(object, at) {
  object.matrixAutoUpdate = false;
  object.matrix.copy(matrixOf(at));
  return object;
}

// A geometry whose normals are smooth across edges that are blunt: at each corner of a triangle the normals of those
// neighbours that differ little from its own are averaged, weighted by the angles they have there.
function creased(positions, index, blunt) {
  const count = index.length / 3;
  const normals = new Float32Array(3 * count);
  const angles = new Float32Array(3 * count);
  const around = new Uint32Array(positions.length / 3 + 1);
  const [a, b, c, e, f] = Array.from({ length: 5 }, () => new THREE.Vector3());
  const corners = [a, b, c];
  for (let k = 0; k < count; k++) {
    corners.forEach((corner, i) => { corner.fromArray(positions, 3 * index[3 * k + i]); around[index[3 * k + i] + 1]++; });
    e.subVectors(b, a).cross(f.subVectors(c, a)).normalize().toArray(normals, 3 * k);
    for (let i = 0; i < 3; i++) {
      e.subVectors(corners[(i + 1) % 3], corners[i]);
      angles[3 * k + i] = e.angleTo(f.subVectors(corners[(i + 2) % 3], corners[i])) || 0;
    }
  }
  for (let k = 1; k < around.length; k++) around[k] += around[k - 1];
  const filled = around.slice();
  const users = new Uint32Array(index.length);
  for (let k = 0; k < index.length; k++) users[filled[index[k]]++] = k;
  const [points, directions] = [new Float32Array(3 * index.length), new Float32Array(3 * index.length)];
  for (let k = 0; k < index.length; k++) {
    const own = 3 * Math.floor(k / 3);
    const [x, y, z] = [normals[own], normals[own + 1], normals[own + 2]];
    let [u, v, w] = [0, 0, 0];
    for (let j = around[index[k]]; j < around[index[k] + 1]; j++) {
      const other = 3 * Math.floor(users[j] / 3);
      if (x * normals[other] + y * normals[other + 1] + z * normals[other + 2] < blunt) continue;
      const weight = angles[users[j]];
      u += weight * normals[other]; v += weight * normals[other + 1]; w += weight * normals[other + 2];
    }
    const length = Math.hypot(u, v, w) || 1;
    directions.set([u / length, v / length, w / length], 3 * k);
    points.set(positions.subarray(3 * index[k], 3 * index[k] + 3), 3 * k);
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(directions, 3));
  return geometry;
}

class Stage {
  constructor(canvas, scene, meshes, block, facing) {
    this.data = scene;
    this.facing = facing;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(36, 1, 0.01, 1000);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.world = new THREE.Group();
    const g = new THREE.Vector3(...scene.gravity);
    const up = g.length() > 1e-9 ? g.clone().normalize().negate() : new THREE.Vector3(0, 0, 1);
    this.world.quaternion.setFromUnitVectors(up, new THREE.Vector3(0, 1, 0));
    this.scene.add(this.world);
    this.ground = new THREE.Group();
    this.links = Array.from({ length: scene.links }, () => {
      const link = new THREE.Group();
      link.matrixAutoUpdate = false;
      this.world.add(link);
      return link;
    });
    this.world.add(this.ground);
    this.layers = {};
    for (const name of ["geometry", "skeleton", "path", "frames", "centres", "ellipsoids"]) this.layers[name] = [];
    this.cloud = [];
    this.missing = false;  // whether a mesh could not be read; the skeleton then helps
    this.ways = [];
    this.pads = [];
    this.labels = [];
    this.size = scene.size;
    this.buildGeometry(meshes, block);
    this.hasGeometry = this.layers.geometry.length > 0;
    this.unit = this.hasGeometry ? this.measure() : scene.size;
    this.buildSkeleton();
    this.buildFrames();
    this.buildCentres();
    this.buildLights();
    this.visible = { geometry: this.hasGeometry, skeleton: !this.hasGeometry || this.missing, path: true, frames: false, centres: false, ellipsoids: false, ground: true };
    DARK.addEventListener("change", () => this.paint());
    this.dirty = true;
  }

  carrier(link) { return link < 0 ? this.ground : this.links[link]; }

  put(layer, link, object) {
    this.carrier(link).add(object);
    this.layers[layer].push(object);
    return object;
  }

  material(colour, options = {}) {
    const [r, g, b, a] = colour;
    return new THREE.MeshStandardMaterial({
      color: new THREE.Color().setRGB(r, g, b, "srgb"), roughness: 0.62, metalness: 0.04, opacity: a ?? 1,
      transparent: (a ?? 1) < 1, ...options });
  }

  // ------------------------------------------------------------------------------------------------------- geometry

  buildGeometry(meshes, block) {
    const geometries = meshes.map((parts) => parts && parts.map((part) => this.unpacked(part, block)));
    for (const body of this.data.bodies) {
      for (const shape of body.shapes) {
        for (const object of this.shapeObjects(shape, geometries, meshes)) {
          object.traverse((x) => { x.castShadow = x.receiveShadow = true; });
          this.put("geometry", body.link, object);
        }
      }
    }
  }

  unpacked(part, block) {
    const [at, count] = part.vertices;
    const grid = new Uint16Array(block, at, 3 * count);
    const positions = new Float32Array(3 * count);
    for (let k = 0; k < positions.length; k++) positions[k] = part.low[k % 3] + (part.span[k % 3] * grid[k]) / 65535;
    return creased(positions, new Uint32Array(block, part.triangles[0], 3 * part.triangles[1]), Math.cos(0.7));
  }

  shapeObjects(shape, geometries, meshes) {
    const s = shape.size;
    if (shape.kind === "mesh") {
      const parts = geometries[shape.mesh];
      if (!parts) { this.missing = true; return [placed(this.placeholder(), shape.at)]; }
      return parts.map((geometry, k) => {
        const colour = meshes[shape.mesh][k].colour || shape.colour;
        const mirrored = s[0] * s[1] * s[2] < 0;
        const mesh = new THREE.Mesh(geometry, this.material(colour, { side: mirrored ? THREE.BackSide : THREE.FrontSide }));
        const holder = placed(new THREE.Group(), shape.at);
        mesh.scale.set(s[0] ?? 1, s[1] ?? 1, s[2] ?? 1);
        holder.add(mesh);
        return holder;
      });
    }
    const holder = placed(new THREE.Group(), shape.at);
    holder.add(this.solid(shape.kind, s, this.material(shape.colour)));
    return [holder];
  }

  solid(kind, s, material) {
    let geometry;
    if (kind === "box") geometry = new THREE.BoxGeometry(s[0], s[1], s[2]);
    else if (kind === "sphere" || kind === "ellipsoid") geometry = new THREE.SphereGeometry(1, 40, 24);
    else if (kind === "capsule") geometry = new THREE.CapsuleGeometry(s[0], s[1], 12, 32);
    else geometry = new THREE.CylinderGeometry(s[0], s[0], s[1], 48);
    if (kind === "cylinder" || kind === "capsule") geometry.rotateX(Math.PI / 2);
    const mesh = new THREE.Mesh(geometry, material);
    if (kind === "sphere") mesh.scale.setScalar(s[0]);
    if (kind === "ellipsoid") mesh.scale.set(...s);
    return mesh;
  }

  placeholder() {
    const a = 0.06 * this.data.size;
    return new THREE.Mesh(new THREE.BoxGeometry(a, a, a), new THREE.MeshBasicMaterial({ color: 0xd9531e, wireframe: true }));
  }

  // ------------------------------------------------------------------------------------------------------- skeleton

  buildSkeleton() {
    const { rods, joints, wheels, lumps } = this.data.bones;
    const r = 0.016 * this.unit;
    const steel = this.material([0.36, 0.45, 0.55, 1]);
    const joint = this.material([0.85, 0.33, 0.12, 1]);
    const way = this.material([0.36, 0.45, 0.55, 0.6]);
    const pad = this.material([0.55, 0.6, 0.66, 1]);
    for (const rod of rods) {
      const material = rod.kind === "link" ? steel : way;
      const thick = rod.kind === "link" ? r : 0.45 * r;
      const mesh = new THREE.Mesh(new THREE.CylinderGeometry(thick, thick, 1, 20).rotateX(Math.PI / 2), material);
      if (rod.a.link === rod.b.link) {
        this.put("skeleton", rod.a.link, mesh);
        this.span(mesh, new THREE.Vector3(...rod.a.at), new THREE.Vector3(...rod.b.at));
      } else {
        this.put("skeleton", -1, mesh);
        this.ways.push({ mesh, rod });
      }
    }
    for (const item of joints) {
      const axis = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...item.axis).normalize());
      if (item.kind !== "fixed" && item.kind !== "free") {
        let mesh;
        const where = item.kind === "prismatic" || item.kind === "planar" ? item.base : item.at;
        if (["revolute", "continuous", "helical", "cylindrical"].includes(item.kind)) mesh = this.solid("cylinder", [1.7 * r, 4.6 * r], joint);
        else if (["prismatic", "planar"].includes(item.kind)) mesh = this.solid("box", [3.4 * r, 3.4 * r, 5.5 * r], joint);
        else mesh = this.solid("sphere", [(item.kind === "pin" ? 1.6 : 2) * r], joint);
        const holder = new THREE.Group();
        holder.add(mesh);
        // the axis is fixed in the parent: the symbol is carried by it, at the place of the joint
        holder.quaternion.copy(axis);
        holder.position.set(...item.base.at);
        if (where === item.base || item.base.link === item.at.link || ["revolute", "continuous", "universal", "spherical"].includes(item.kind)) {
          this.put("skeleton", item.base.link, holder);
        } else {
          holder.position.set(...item.at.at);
          this.put("skeleton", item.at.link, holder);
        }
      }
      if (item.ground) {
        const base = new THREE.Mesh(new THREE.BoxGeometry(7 * r, 7 * r, 1.2 * r), pad);
        const holder = new THREE.Group();
        holder.position.set(...item.base.at);
        holder.quaternion.copy(this.world.quaternion).invert();  // flat on the ground, whatever is up
        base.rotation.x = -Math.PI / 2;
        base.position.y = -2.4 * r;
        holder.add(base);
        this.pads.push({ base, holder, link: item.at.link });
        this.put("skeleton", -1, holder);
      }
    }
    const heaviest = Math.max(...this.data.bodies.map((b) => b.mass || 0), 1e-12);
    this.data.bodies.forEach((body, k) => {
      if (!body.mass || body.link < 0) return;
      if (lumps.includes(k) && body.ellipsoid) {
        const holder = placed(new THREE.Group(), body.ellipsoid.at);
        const most = [Infinity, Infinity, 0.12, 0.12, 0.12, 0.12][this.data.bodies.length] ?? 0.05;  // what is heavy must not hide the rest
        const shrink = Math.min(1, (most * this.unit) / Math.max(...body.ellipsoid.axes));
        holder.add(this.solid("ellipsoid", body.ellipsoid.axes.map((x) => shrink * x), steel));
        this.put("skeleton", body.link, holder);
        return;
      }
      const bob = this.solid("sphere", [3.2 * r * Math.max(0.45, Math.cbrt(body.mass / heaviest))], this.material([0.16, 0.44, 0.73, 1]));
      bob.position.set(...body.center);
      this.put("skeleton", body.link, bob);
    });
    for (const wheel of wheels) {
      const holder = placed(new THREE.Group(), wheel.at);
      const material = this.material([0.36, 0.45, 0.55, 0.75]);
      holder.add(this.solid(wheel.kind, wheel.size, material));
      if (wheel.kind === "cylinder") {
        const spoke = this.solid("box", [2 * wheel.size[0], 0.05 * wheel.size[0], 1.3 * wheel.size[1]], joint);
        holder.add(spoke);
      }
      this.put("skeleton", wheel.link, holder);
    }
    for (const object of this.layers.skeleton) object.traverse((x) => { x.castShadow = true; });
  }

  span(mesh, a, b) {
    const along = b.clone().sub(a);
    const length = along.length();
    mesh.visible = length > 1e-9;
    mesh.position.copy(a).addScaledVector(along, 0.5);
    if (mesh.visible) mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), along.divideScalar(length));
    mesh.scale.set(1, 1, Math.max(length, 1e-9));
  }

  // ---------------------------------------------------------------------------------------- frames, centres, ellipsoids

  buildFrames() {
    const length = 0.11 * this.unit;
    const add = (name, link, at) => {
      const holder = placed(new THREE.Group(), at);
      [[0xd23b3b, "x"], [0x2f9e44, "y"], [0x2a6fdb, "z"]].forEach(([colour, direction], k) => {
        const arrow = new THREE.Mesh(new THREE.CylinderGeometry(0.035 * length, 0.035 * length, length, 10).translate(0, length / 2, 0),
          new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, toneMapped: false }));
        if (direction === "x") arrow.rotation.z = -Math.PI / 2;
        if (direction === "z") arrow.rotation.x = Math.PI / 2;
        arrow.renderOrder = 5 + k;
        holder.add(arrow);
      });
      this.put("frames", link, holder);
      const label = document.createElement("span");
      label.textContent = name;
      label.hidden = true;
      document.getElementById("labels").append(label);
      this.labels.push({ label, holder });
    };
    add("world", -1, [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    for (const body of this.data.bodies) add(body.name, body.link, body.at);
    for (const frame of this.data.frames) add(frame.name, frame.link, frame.at);
  }

  buildCentres() {
    const r = 0.012 * this.unit;
    const flat = (colour) => new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, toneMapped: false });
    const heaviest = Math.max(...this.data.bodies.map((b) => b.mass || 0), 1e-12);
    for (const body of this.data.bodies) {
      if (!body.mass) continue;
      const ball = new THREE.Group();
      const radius = r * Math.max(0.4, Math.cbrt(body.mass / heaviest));
      ball.add(this.solid("sphere", [1.25 * radius], flat(0xffffff)), this.solid("sphere", [radius], flat(0x2a6fbb)));
      ball.children.forEach((x, k) => { x.renderOrder = 10 + k; });
      ball.position.set(...body.center);
      this.put("centres", body.link, ball);
      if (body.ellipsoid) {
        const holder = placed(new THREE.Group(), body.ellipsoid.at);
        const skin = this.material([0.17, 0.5, 0.82, 0.42], { depthWrite: false });
        holder.add(this.solid("ellipsoid", body.ellipsoid.axes, skin));
        this.put("ellipsoids", body.link, holder);
      }
    }
    this.whole = new THREE.Group();
    this.whole.add(this.solid("sphere", [2 * r], flat(0xffffff)), this.solid("sphere", [1.6 * r], flat(0xd9531e)));
    this.whole.children.forEach((x, k) => { x.renderOrder = 14 + k; });
    this.drop = new THREE.Mesh(new THREE.CylinderGeometry(0.15 * r, 0.15 * r, 1, 8).rotateX(Math.PI / 2), flat(0xd9531e));
    this.drop.renderOrder = 13;
    this.put("centres", -1, this.whole);
    this.put("centres", -1, this.drop);
  }

  // The way of one point of the mechanism: the origin of its last frame, or the end of its last body.
  buildPath(placements) {
    const { frames, bodies } = this.data;
    const last = bodies.filter((body) => body.link >= 0).at(-1);
    const frame = frames.filter((x) => x.link >= 0).at(-1);
    const end = frame ? { link: frame.link, at: frame.at.slice(9) } : last && { link: last.link, at: last.center || last.at.slice(9) };
    if (!end) return;
    const points = [];
    let before = null;
    for (const poses of placements) {
      const point = new THREE.Vector3(...end.at).applyMatrix4(matrixOf(poses, 12 * end.link));
      if (before) points.push(...before.toArray(), ...point.toArray());
      before = point;
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
    const material = new THREE.LineBasicMaterial({ color: 0xd9531e, transparent: true, opacity: 0.55, toneMapped: false });
    this.put("path", -1, new THREE.LineSegments(geometry, material));
  }

  // ------------------------------------------------------------------------------------------------------ light, ground

  buildLights() {
    this.hemisphere = new THREE.HemisphereLight(0xffffff, 0xffffff, 1.6);
    this.sun = new THREE.DirectionalLight(0xffffff, 2.0);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.01 * this.unit;
    this.sun.shadow.radius = 3;
    this.fill = new THREE.DirectionalLight(0xdfeaff, 0.5);
    this.floor = new THREE.Mesh(new THREE.PlaneGeometry(1, 1).rotateX(-Math.PI / 2), new THREE.ShadowMaterial({ opacity: 0.2 }));
    this.floor.receiveShadow = true;
    this.scene.add(this.hemisphere, this.sun, this.sun.target, this.fill, this.floor);
  }

  // The grid fades with the distance from the middle: lines are drawn in cells with a colour of their own.
  buildGrid(radius, step) {
    if (this.grid) { this.scene.remove(this.grid); this.grid.geometry.dispose(); }
    const points = [], alphas = [];
    const count = Math.ceil(radius / step);
    const alpha = (x, y) => Math.max(0, 1 - Math.hypot(x, y) / radius);
    for (let i = -count; i <= count; i++) {
      for (let j = -count; j < count; j++) {
        for (const [x, y, u, v] of [[i, j, i, j + 1], [j, i, j + 1, i]]) {
          const bold = i % 5 === 0 ? 1 : 0.45;
          points.push(x * step, 0, y * step, u * step, 0, v * step);
          for (const [p, q] of [[x, y], [u, v]]) alphas.push(1, 1, 1, bold * alpha(p * step, q * step));
        }
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(alphas), 4));
    this.grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
    this.scene.add(this.grid);
  }

  paint() {
    const dark = DARK.matches;
    this.hemisphere.groundColor.set(dark ? 0x39434f : 0xb9c2cc);
    this.hemisphere.intensity = dark ? 0.95 : 1.25;
    this.floor.material.opacity = dark ? 0.4 : 0.17;
    this.grid.material.color.set(dark ? 0x6f8296 : 0x9aa8b6);
    this.dirty = true;
  }

  // What mostly hangs is fixed to something above it.
  settle() {
    this.world.updateMatrixWorld(true);
    for (const { base, holder, link } of this.pads) {
      const body = this.data.bodies.find((b) => b.link === link && b.center);
      const center = body && new THREE.Vector3(...body.center).applyMatrix4(this.carrier(link).matrixWorld);
      const below = center ? holder.getWorldPosition(new THREE.Vector3()).y - center.y : 0;
      base.userData.below = (base.userData.below ?? 0) + below;
      base.position.y = Math.abs(base.position.y) * (base.userData.below > 1e-6 ? 1 : -1);
    }
  }

  // The box of everything in its present position; its parts are remembered for the camera.
  bounds() {
    const box = new THREE.Box3();
    for (const object of this.layers[this.hasGeometry ? "geometry" : "skeleton"]) {
      const part = new THREE.Box3().expandByObject(object);
      if (part.isEmpty()) continue;
      box.union(part);
      for (const x of [part.min.x, part.max.x]) for (const y of [part.min.y, part.max.y]) for (const z of [part.min.z, part.max.z]) this.cloud.push([x, y, z]);
    }
    return box;
  }

  measure() {
    this.world.updateMatrixWorld(true);
    const sphere = this.bounds().getBoundingSphere(new THREE.Sphere());
    this.cloud = [];  // links are not yet where they belong
    return Math.max(sphere.radius, 1e-6);
  }

  // Ground, light and camera for everything the mechanism reaches in the given positions.
  frame(box, lowest = box.min.y, far = false) {
    this.leash = far ? 0.3 : 1;
    this.margin = far ? 1.8 : 1.2;
    const sphere = box.getBoundingSphere(new THREE.Sphere());
    const radius = Math.max(sphere.radius, 1e-3);
    this.level = Math.min(0, lowest) - (lowest < -1e-6 ? 0.04 * radius : 0);
    const power = 10 ** Math.floor(Math.log10(radius / 6));
    this.cell = 5 * ([1, 2, 5, 10].find((k) => k * power >= radius / 6) * power);
    this.buildGrid(5 * radius, this.cell / 5);
    this.floor.scale.setScalar(20 * radius);
    this.sun.target.position.copy(sphere.center);
    this.sun.position.copy(sphere.center).add(new THREE.Vector3(1.4, 3.2, 1.9).multiplyScalar(radius));
    this.fill.position.copy(sphere.center).add(new THREE.Vector3(-2.5, 1.2, -1.5).multiplyScalar(radius));
    const shade = this.sun.shadow.camera;
    shade.left = shade.bottom = -1.8 * radius;
    shade.right = shade.top = 1.8 * radius;
    shade.near = 0.1 * radius;
    shade.far = 12 * radius;
    shade.updateProjectionMatrix();
    this.sphere = new THREE.Sphere(sphere.center.clone(), radius);
    this.center();
    this.look();
    this.paint();
  }

  look() {
    const { center, radius } = this.sphere;
    const direction = this.facing ? new THREE.Vector3(...this.facing).applyQuaternion(this.world.quaternion)
      : new THREE.Vector3(0.62, 0, 0.78);
    if (Math.abs(direction.y) < 0.9) direction.y = this.facing ? 0.16 : 0.38;
    else direction.set(0, 1, 0.05);
    if (this.facing && Math.abs(direction.y) < 0.9) {
      direction.applyAxisAngle(new THREE.Vector3(0, 1, 0), 0.22);
    }
    direction.normalize();
    // as near as everything that is reached can be seen, with a margin for title and timeline
    const right = new THREE.Vector3(0, 1, 0).cross(direction).normalize();
    const above = direction.clone().cross(right);
    const half = Math.tan((this.camera.fov * Math.PI) / 360) / this.margin;
    let distance = 1.2 * radius;
    for (const point of this.cloud) {
      const corner = new THREE.Vector3(...point).sub(center);
      const aside = Math.max(Math.abs(corner.dot(right)) / this.camera.aspect, Math.abs(corner.dot(above)));
      distance = Math.max(distance, corner.dot(direction) + aside / half);
    }
    this.camera.near = distance / 200;
    this.camera.far = distance * 40;
    this.camera.position.copy(center).addScaledVector(direction, distance);
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(center);
    this.controls.update();
    this.dirty = true;
  }

  // --------------------------------------------------------------------------------------------------------- motion

  update(poses, center) {
    this.links.forEach((link, k) => { link.matrix.copy(matrixOf(poses, 12 * k)); link.matrixWorldNeedsUpdate = true; });
    for (const { mesh, rod } of this.ways) {
      const [a, b] = [rod.a, rod.b].map((end) => {
        const point = new THREE.Vector3(...end.at);
        return end.link < 0 ? point : point.applyMatrix4(this.links[end.link].matrix);
      });
      this.span(mesh, a, b);
    }
    this.whole.visible = this.drop.visible = this.visible.centres && Boolean(center);
    if (center) {
      this.whole.position.set(center[0], center[1], center[2]);
      const above = this.whole.position.clone().applyQuaternion(this.world.quaternion);
      const below = above.clone().setY(this.level ?? 0).applyQuaternion(this.world.quaternion.clone().invert());
      this.span(this.drop, this.whole.position.clone(), below);
      this.drop.visible = this.whole.visible;
      this.follow(above);
    }
    this.dirty = true;
  }

  // What goes far away takes camera, light and ground with it.
  follow(center) {
    if (!this.sphere) return;
    const away = center.clone().sub(this.sphere.center);
    const excess = away.length() - this.leash * this.sphere.radius;
    if (excess <= 0) return;
    const shift = away.setLength(excess);
    this.sphere.center.add(shift);
    for (const place of [this.camera.position, this.controls.target, this.sun.position, this.sun.target.position, this.fill.position]) place.add(shift);
    for (const point of this.cloud) shift.toArray().forEach((x, k) => { point[k] += x; });
    this.center();
  }

  // Ground below the middle of what is shown; the lines of the grid stay where they are in the world.
  center() {
    const { center } = this.sphere;
    const snap = (x) => Math.round(x / this.cell) * this.cell;
    this.grid.position.set(snap(center.x), this.level, snap(center.z));
    this.floor.position.set(center.x, this.level - 0.0005 * this.sphere.radius, center.z);
  }

  show(name, on) {
    this.visible[name] = on;
    if (name === "ground") { this.grid.visible = this.floor.visible = on; } else {
      for (const object of this.layers[name]) object.visible = on;
      for (const { mesh } of this.ways) mesh.visible = this.visible.skeleton;
    }
    const { frames, centres, ellipsoids, skeleton } = this.visible;
    const ghost = frames || centres || ellipsoids || (skeleton && this.hasGeometry);
    const fade = (layer, weak) => {
      for (const object of this.layers[layer]) object.traverse((x) => {
        if (!x.material) return;
        x.userData.opacity ??= x.material.opacity;
        x.material.opacity = weak ? 0.3 * x.userData.opacity : x.userData.opacity;
        x.material.transparent = x.material.opacity < 1;
        x.material.depthWrite = !weak;
        x.material.needsUpdate = true;
      });
    };
    fade("geometry", ghost);
    if (!this.hasGeometry) fade("skeleton", ellipsoids);
    this.dirty = true;
  }

  resize() {
    const view = this.renderer.domElement.parentElement;
    const [width, height] = [Math.max(view.clientWidth, 1), Math.max(view.clientHeight, 1)];
    this.renderer.setSize(width, height, false);
    const was = this.camera.aspect;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.sphere && Math.abs(was - this.camera.aspect) > 0.3) this.look();
    this.dirty = true;
  }

  render() {
    this.controls.update();
    if (!this.dirty) return;
    this.dirty = false;
    this.renderer.render(this.scene, this.camera);
    const view = this.renderer.domElement.parentElement;
    const point = new THREE.Vector3();
    for (const { label, holder } of this.labels) {
      label.hidden = !this.visible.frames || this.labels.length > 80;
      if (label.hidden) continue;
      point.setFromMatrixPosition(holder.matrixWorld).project(this.camera);
      label.hidden = Math.abs(point.z) > 1;
      label.style.transform = `translate(${((point.x + 1) / 2) * view.clientWidth + 8}px, ${((1 - point.y) / 2) * view.clientHeight + 4}px)`;
    }
  }
}
