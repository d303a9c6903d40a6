// The mechanism in three dimensions: geometry, skeleton, frames, centres of mass and ellipsoids on moving links.

class Figure {
  constructor(scene, meshes, block) {
    this.data = scene;
    this.world = new THREE.Group();
    const g = new THREE.Vector3(...scene.gravity);
    const up = g.length() > 1e-9 ? g.clone().normalize().negate() : new THREE.Vector3(0, 0, 1);
    this.world.quaternion.setFromUnitVectors(up, new THREE.Vector3(0, 1, 0));
    this.ground = new THREE.Group();
    this.links = Array.from({ length: scene.links }, () => Object.assign(new THREE.Group(), { matrixAutoUpdate: false }));
    this.world.add(this.ground, ...this.links);
    this.layers = {};
    for (const name of ["geometry", "skeleton", "path", "frames", "centres", "ellipsoids", "collisions", "surfaces", "contacts"]) this.layers[name] = [];
    this.cloud = [];
    this.missing = false;  // whether a mesh could not be read; the skeleton then helps
    this.ways = [];
    this.pads = [];
    this.labels = [];
    this.buildGeometry(meshes, block);
    this.hasGeometry = this.layers.geometry.length > 0;
    this.unit = this.hasGeometry ? this.measure() : scene.size;
    this.buildSkeleton();
    this.buildFrames();
    this.buildCentres();
    this.buildTouching();
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
        const mesh = new THREE.Mesh(geometry, this.material(colour));
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
    else if (kind === "cylinder") geometry = new THREE.CylinderGeometry(s[0], s[0], s[1], 48);
    else throw new Error(`there is no solid of kind ${kind}`);
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
    const { rods, joints, wheels, lumps, length } = this.data.bones;
    const r = Math.min(0.016, Math.max(0.002, (0.11 * (length ?? Infinity)) / this.unit)) * this.unit;  // masses, of 3.2 r, leave rods between them
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
    mesh.visible = length > 1e-12;
    mesh.position.copy(a).addScaledVector(along, 0.5);
    if (mesh.visible) mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), along.divideScalar(length));
    mesh.scale.set(1, 1, Math.max(length, 1e-12));
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

  // ----------------------------------------------------------------------------------------------- what touches, and where

  buildTouching() {
    const skin = this.material([0.16, 0.62, 0.42, 0.4], { depthWrite: false });
    const ground = this.material([0.62, 0.66, 0.7, 1], { side: 2 });  // seen from both sides
    for (const shape of this.data.collisions) {
      const holder = placed(new THREE.Group(), shape.at);
      if (!shape.vertices) holder.add(this.solid(shape.kind, shape.size, skin));
      else if (shape.triangles.length) holder.add(new THREE.Mesh(this.facets(shape), skin));
      for (let k = 0; shape.kind === "points" && k < shape.vertices.length; k += 3) {
        const dot = this.solid("sphere", [0.008 * this.unit], skin);
        dot.position.set(...shape.vertices.slice(k, k + 3));
        holder.add(dot);
      }
      this.put("collisions", shape.link, holder);
    }
    for (const patch of this.data.grounds) {
      const mesh = new THREE.Mesh(this.facets(patch), ground);
      mesh.receiveShadow = true;
      this.put("surfaces", patch.link, mesh);
    }
  }

  facets({ vertices, triangles }) {
    return creased(Float32Array.from(vertices), Uint32Array.from(triangles), 0.9);
  }

  // Arrows for the forces of contacts on the first body of each pair: half the figure for the whole weight.
  buildArrows(count) {
    const flat = new THREE.MeshBasicMaterial({ color: 0xd9531e, depthTest: false, transparent: true, toneMapped: false });
    const r = 0.006 * this.unit;
    this.arrows = Array.from({ length: count }, () => {
      const shaft = new THREE.Mesh(new THREE.CylinderGeometry(r, r, 1, 10).translate(0, 0.5, 0).rotateX(Math.PI / 2), flat);
      const head = new THREE.Mesh(new THREE.CylinderGeometry(0, 2.6 * r, 6 * r, 16).rotateX(Math.PI / 2), flat);
      const arrow = new THREE.Group();
      arrow.add(shaft, head);
      arrow.children.forEach((x, k) => { x.renderOrder = 16 + k; });
      return this.put("contacts", -1, arrow);
    });
    const weight = this.data.mass * Math.hypot(...this.data.gravity);
    this.perNewton = (0.5 * this.unit) / (weight || 1);
  }

  showForces(places, forces, on) {
    const [along, z] = [new THREE.Vector3(), new THREE.Vector3(0, 0, 1)];
    this.arrows.forEach((arrow, k) => {
      along.fromArray(forces, 3 * k);
      const length = Math.min(along.length() * this.perNewton, 3 * this.unit);
      arrow.visible = on && length > 0.002 * this.unit;
      if (!arrow.visible) return;
      arrow.position.fromArray(places, 3 * k);
      arrow.quaternion.setFromUnitVectors(z, along.normalize());
      arrow.children[0].scale.z = length;
      arrow.children[1].position.z = length;
    });
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
    return Math.max(sphere.radius, 1e-12);
  }
}
