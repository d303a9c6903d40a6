// Small tools for three dimensions: poses as matrices, and meshes with normals.

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
