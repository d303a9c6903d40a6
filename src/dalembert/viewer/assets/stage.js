// Where the mechanism stands: light, ground and camera; what is shown, and how it moves.

const DARK = window.matchMedia("(prefers-color-scheme: dark)");

class Stage extends Figure {
  constructor(canvas, scene, meshes, block, facing) {
    super(scene, meshes, block);
    this.facing = facing;
    this.centres = [];
    this.offset = new THREE.Vector3();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.scene = new THREE.Scene();
    this.scene.add(this.world);
    this.camera = new THREE.PerspectiveCamera(36, 1, 0.01, 1000);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.buildLights();
    this.visible = {
      geometry: this.hasGeometry, skeleton: !this.hasGeometry || this.missing, path: true, frames: false, centres: false,
      ellipsoids: false, collisions: !this.hasGeometry && scene.collisions.length > 0, surfaces: true, contacts: true,
      ground: true };
    DARK.addEventListener("change", () => this.paint());
    this.dirty = true;
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

  // Ground, light and camera for everything the mechanism reaches in the given positions.
  frame(box, lowest = box.min.y, far = false) {
    this.margin = far ? 1.8 : 1.2;
    const sphere = box.getBoundingSphere(new THREE.Sphere());
    const radius = Math.max(sphere.radius, 1e-12);
    this.level = this.data.floor ?? Math.min(0, lowest) - (lowest < -1e-6 * radius ? 0.04 * radius : 0);
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
    const seen = far ? this.centres.slice(0, 1) : this.centres;
    if (seen.length) this.offset = seen[0].clone().sub(sphere.center);  // masses may lie far from what is drawn
    this.leash = Math.max((far ? 0.3 : 1) * radius, ...seen.map((point) => point.distanceTo(seen[0])));
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
    // as near as everything that is reached can be seen, with a margin, and 64 pixels for each of title and timeline
    const right = new THREE.Vector3(0, 1, 0).cross(direction).normalize();
    const above = direction.clone().cross(right);
    const half = Math.tan((this.camera.fov * Math.PI) / 360);
    const height = Math.max(256, this.renderer.domElement.clientHeight);
    const upright = Math.max(this.margin, height / (height - 128));
    let distance = 1.2 * radius;
    for (const point of this.cloud) {
      const corner = new THREE.Vector3(...point).sub(center);
      const aside = Math.max((this.margin * Math.abs(corner.dot(right))) / this.camera.aspect, upright * Math.abs(corner.dot(above)));
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

  // What goes far away takes camera, light and ground with it: its centre of mass tells how far.
  follow(center) {
    if (!this.sphere) { this.centres.push(center); return; }
    const away = center.clone().sub(this.sphere.center).sub(this.offset);
    const excess = away.length() - this.leash;
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
