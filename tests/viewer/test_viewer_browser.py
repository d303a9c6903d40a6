"""The page as a browser shows it, in headless Chromium with software rendering: a user's mouse moves what it should."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
import viewer_cases as cases

import dalembert as da
from dalembert.kinematics import link_poses
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism, Shape
from dalembert.viewer import view

browsers = cases.chromium()
pytestmark = pytest.mark.skipif(browsers.find_chromium() is None, reason="needs Chromium")

READY = "!!window.dalembert"
FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
STAGE = "#stage"


@pytest.fixture(scope="module")
def browser():
    with browsers.Chromium(1000, 640) as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def pixels(browser) -> np.ndarray:
    """What the stage shows, as the page itself reads it back: (height, width, 4)."""
    source = """(() => {
      const { stage } = dalembert, canvas = stage.renderer.domElement;
      stage.dirty = true; stage.render();
      const small = document.createElement("canvas");
      small.width = 160; small.height = 120;
      const c = small.getContext("2d");
      c.drawImage(canvas, 0, 0, 160, 120);
      return Array.from(c.getImageData(0, 0, 160, 120).data);
    })()"""
    return np.array(browser.run(source), dtype=float).reshape(120, 160, 4)


def positions(browser) -> np.ndarray:
    return np.array(browser.run("Array.from(dalembert.machine.q)"))


def inked(browser) -> float:
    """The share of the first plot that is drawn on."""
    return browser.run("(() => { const c = document.querySelector('.plot canvas'); const d = c.getContext('2d')"
                       ".getImageData(0, 0, c.width, c.height).data; return d.filter((x, k) => k % 4 === 3 && x > 100)"
                       ".length / (c.width * c.height); })()")  # fmt: skip


def drag_slider(browser, number: int, share: float) -> None:
    """Take the thumb of a slider and drag it to a part of its way."""
    selector = f"#slider-{number}"
    x, y, w, h = browser.place(selector)
    low, high, now = browser.run(f"(() => {{ const s = document.querySelector('{selector}');"
                                 " return [Number(s.min), Number(s.max), Number(s.value)]; })()")  # fmt: skip
    thumb = x + 7.5 + (w - 15) * (now - low) / (high - low)
    browser.drag((thumb, y + h / 2), (x + 7.5 + (w - 15) * share, y + h / 2))
    browser.run(FRAME)


@pytest.fixture(scope="module")
def arm_page(folder):
    return view("demo_arm", to=folder / "arm.html")


def test_the_picture_is_not_blank_and_the_page_is_quiet(browser, arm_page):
    browser.messages.clear()
    browser.open(arm_page, READY)
    shown = pixels(browser)
    drawn = shown[..., 3] > 0
    assert 0.05 < drawn.mean() <= 1.0
    orange = (shown[..., 0] > 1.5 * shown[..., 2]) & (shown[..., 3] > 200)
    assert orange.mean() > 0.01  # the arm itself, not only the ground
    assert len(set(browser.picture())) > 200
    assert browser.run("document.getElementById('failure').hidden") is True
    assert browser.messages == []  # no errors, no requests


def test_a_slider_moves_the_robot(browser, arm_page):
    browser.open(arm_page, READY)
    before, was = pixels(browser), positions(browser)
    drag_slider(browser, 1, 0.85)
    after, now = pixels(browser), positions(browser)
    arm = da.load("demo_arm")
    limits = arm.joints[2 if arm.joints[0].nq == 0 else 1].limits
    assert now[1] == pytest.approx(limits.lower + 0.85 * (limits.upper - limits.lower), abs=0.05)
    assert np.abs(np.delete(now - was, 1)).max() == 0
    assert (np.abs(after - before).max(axis=2) > 30).mean() > 0.01
    shown = browser.run("dalembert.stage.links.map((link) => link.matrix.elements.slice(12, 15))")
    np.testing.assert_allclose(shown, [p.translation for p in link_poses(arm.tree, now)], atol=1e-9)
    label = browser.run("document.querySelector('#slider-1').parentElement.querySelector('output').textContent")
    assert float(label.split("\u2009")[0].replace("\u2212", "-")) == pytest.approx(now[1], abs=1e-3)
    browser.click("#reset")
    browser.run(FRAME)
    np.testing.assert_array_equal(positions(browser), was)


def test_layers_can_be_switched(browser, arm_page):
    browser.open(arm_page, READY)
    for layer in ("skeleton", "frames", "centres", "ellipsoids", "ground", "geometry"):
        before = pixels(browser)
        browser.click(f'[data-layer="{layer}"]')
        browser.run(FRAME)
        assert (np.abs(pixels(browser) - before).max(axis=2) > 8).mean() > 0.001, layer
    assert browser.run("[...document.querySelectorAll('#labels span')].some((x) => x.textContent === 'flange')")


def test_loops_stay_closed_under_the_mouse(browser, folder):
    mechanism = da.load("four_bar", parameters="default")
    system = da.Dynamics(mechanism)
    browser.open(view(mechanism, to=folder / "bar.html"), READY)
    start = positions(browser)
    drag_slider(browser, 0, 0.62)
    now = positions(browser)
    assert np.abs(now - start).min() > 1e-3  # everything moved
    assert np.abs(system.evaluate("positions", now, 0.0)[0]).max() < 1e-8
    browser.run("dalembert.machine.move({ coordinate: { q: 2, v: 2 }, part: -1 }, 20)")  # as far as the rocker goes
    assert np.abs(system.evaluate("positions", positions(browser), 0.0)[0]).max() < 1e-8


def test_a_motion_plays_by_itself_stops_and_is_scrubbed(browser, folder):
    mechanism = da.load("double_pendulum", parameters="default")
    swing = da.simulate(mechanism, [1.5, 0.5], t=3.0, control=lambda t, q, v: -0.2 * v)
    browser.open(view(mechanism, swing, to=folder / "swing.html"), READY)
    first = browser.run("dalembert.state.time")
    before = pixels(browser)
    browser.until(f"dalembert.state.time > {first} + 0.3 || dalembert.state.time < {first}", 20)
    assert (np.abs(pixels(browser) - before).max(axis=2) > 30).mean() > 0.002
    assert browser.run("dalembert.stage.layers.path[0].geometry.attributes.position.count") >= 2 * 180  # three seconds
    browser.click("#play")
    stopped = browser.run("dalembert.state.time")
    time.sleep(0.3)
    assert browser.run("dalembert.state.time") == stopped
    x, y, w, h = browser.place("#scrub")
    browser.drag((x + w / 2, y + h / 2), (x + w / 2, y + h / 2))
    browser.run(FRAME)
    now = browser.run("dalembert.state.time")
    assert now == pytest.approx(1.5, abs=0.05)
    np.testing.assert_allclose(positions(browser), swing(now).q, atol=2e-3)  # straight lines between sixtieths
    x, y, w, h = browser.place(".plot canvas")
    browser.drag((x + w / 4, y + h / 2), (x + w / 4, y + h / 2))
    assert browser.run("dalembert.state.time") == pytest.approx(0.75, abs=0.05)
    ink = inked(browser)
    assert 0.01 < ink < 0.5


def test_numbers_below_a_plot_are_those_of_its_curves_at_the_cursor(browser, folder):
    """Two samples a second apart: at a time between them forces are on the straight lines that are drawn."""
    titles = "t,q.shoulder,q.elbow,tau.shoulder,tau.elbow"
    (folder / "two.csv").write_text(f"{titles}\n0,0,0,0,10\n1,1,1,100,-30\n")
    mechanism = da.load("double_pendulum", parameters="default")
    browser.open(view(mechanism, folder / "two.csv", to=folder / "two.html"), READY)
    if browser.run("dalembert.state.playing"):
        browser.click("#play")
    for share in (0.25, 0.7):
        x, y, w, h = browser.place(".plot canvas")
        browser.drag((x + w * share, y + h / 2), (x + w * share, y + h / 2))
        browser.run(FRAME)
        now = browser.run("dalembert.state.time")
        assert now == pytest.approx(share, abs=0.05)
        text = browser.run("document.querySelector('.plot .legend').textContent").replace("\u2212", "-")
        shown = [float(number) for number in re.findall(r"-?\d+\.\d+", text)]
        assert shown == pytest.approx([100 * now, 10 - 40 * now], abs=0.006)  # two decimals
        np.testing.assert_allclose(positions(browser), [now, now], atol=1e-6)


def test_what_is_let_go_falls_as_the_library_says(browser, folder):
    mechanism = da.load("double_pendulum", parameters="default")
    browser.open(view(mechanism, q=[1.0, 0.5], to=folder / "fall.html"), READY)
    browser.run("dalembert.machine.fall(0.5)")
    seconds = browser.run("dalembert.machine.t[0]")
    wanted = da.simulate(mechanism, [1.0, 0.5], t=1.0, include=("damping",))(seconds)
    np.testing.assert_allclose(positions(browser), wanted.q, atol=5e-3)  # first order, half a millisecond a step
    browser.click("#fall")
    before = positions(browser)
    browser.until("dalembert.state.fallen > 0.2", 20)
    browser.click("#fall")
    assert np.abs(positions(browser) - before).max() > 0.01


def test_a_floating_body_is_turned_by_its_sliders(browser, folder):
    mechanism = da.load("free_body", parameters="default")
    browser.open(view(mechanism, q=mechanism.neutral, to=folder / "free.html"), READY)
    drag_slider(browser, 4, 0.75)
    q = positions(browser)
    assert np.linalg.norm(q[3:]) == pytest.approx(1.0)
    assert 2 * np.arctan2(q[4], q[6]) == pytest.approx(np.pi / 2, abs=0.05)  # three quarters of -pi .. pi, about y


def test_the_camera_follows_what_flies_away(browser, folder):
    mechanism = da.load("free_body", parameters="default")
    flight = da.simulate(mechanism, v0=[3.0, 0, 2, 0.1, 5, 0.1], t=3.0)
    browser.open(view(flight, to=folder / "flight.html"), READY)
    for t in (0.0, 2.9, 1.0):
        browser.run(f"(dalembert.pause(), dalembert.at({t}))")
        x, y, z = browser.run("""(() => { const { stage } = dalembert; stage.dirty = true; stage.render();
            return stage.whole.getWorldPosition(stage.whole.position.clone()).project(stage.camera).toArray(); })()""")
        assert abs(x) < 0.9 and abs(y) < 0.9 and abs(z) < 1, t
    assert np.linalg.norm(flight(2.9).q[:3]) > 20  # it went far


@pytest.mark.parametrize("moves", [False, True])
def test_what_is_drawn_is_in_the_picture_wherever_the_masses_are(browser, folder, moves):
    """Only the first body has a shape; the masses are ten of its sizes away."""
    ball = Body("ball", Inertia.sphere(1.0, 0.1, [0, 0, 1.0]), (Shape("sphere", (0.1,)),))
    rod = Body("rod", Inertia.sphere(5.0, 0.1, [0, 0, 1.0]))
    joints = (Joint("swing", "revolute", WORLD, "ball", axis=[0, 1, 0]), Joint("tip", "revolute", "ball", "rod"))
    partly = Mechanism("partly", (ball, rod), joints)
    shown = da.simulate(partly, v0=[0.2, 0.1], t=0.3) if moves else partly
    browser.open(view(shown, to=folder / f"partly-{moves}.html", equations=False), READY)
    browser.run(FRAME)
    x, y, z = browser.run("""(() => { const { stage } = dalembert, [ball] = stage.layers.geometry;
        stage.dirty = true; stage.render(); ball.updateWorldMatrix(true, false);
        const at = stage.whole.position.clone().setFromMatrixPosition(ball.matrixWorld);
        return at.project(stage.camera).toArray(); })()""")
    assert abs(x) < 0.5 and abs(y) < 0.5 and abs(z) < 1


def test_hostile_names_are_shown_and_not_obeyed(browser, folder):
    with pytest.warns(da.errors.ModelWarning):
        page = view(cases.hostile(), to=folder / "hostile.html")
    browser.open(page, READY)
    browser.run(FRAME)
    assert browser.run("document.title") == f"{cases.NASTY[0]} · dalembert"
    assert browser.run("document.querySelector('#title h1').textContent") == cases.NASTY[0]
    assert browser.run("document.querySelectorAll('img, #labels svg, #sliders script').length") == 0
    assert browser.run("document.querySelector('#notes').hidden") is False
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    time.sleep(0.2)
    assert browser.run("document.title").startswith(cases.NASTY[0])  # even then the policy stops it


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_picture_and_panel(arm_page, browser, dark):
    browser.become(390, 780, dark)
    browser.open(arm_page, READY)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    _, top, width, height = browser.place(STAGE)
    _, panel, panel_width, _ = browser.place("#panel")
    assert width == panel_width == 390 and top + height <= panel + 1 and height > 300
    assert (pixels(browser)[..., 3] > 0).mean() > 0.05
    ink = browser.run("getComputedStyle(document.querySelector('#panel')).color")
    assert (int(ink.split("(")[1].split(",")[0]) > 128) == dark
    browser.become(1000, 640)


def test_without_webgl_the_panel_still_works(arm_page, browser):
    crippled = arm_page.with_name("no-webgl.html")
    text = arm_page.read_text(encoding="utf-8").replace("script-src", "script-src 'unsafe-inline'; x-was", 1)
    hook = "<script>HTMLCanvasElement.prototype.getContext = () => null;</script><style>"
    crippled.write_text(text.replace("<style>", hook, 1), encoding="utf-8")
    browser.open(crippled, READY)
    assert "cannot draw in three dimensions" in browser.run("document.getElementById('failure').textContent")
    before = positions(browser)
    drag_slider(browser, 0, 0.9)
    assert np.abs(positions(browser) - before).max() > 0.1


def test_nothing_is_hidden_behind_the_title_of_a_small_window(browser, folder):
    browser.open(view("demo_arm", q={"lift": -0.4, "bend": 0.9}, to=folder / "small.html"), READY)
    try:
        for width, height in ((420, 760), (1280, 760)):
            browser.become(width, height)
            browser.run(f"{FRAME}.then(() => {{ dalembert.stage.resize(); dalembert.stage.look(); }})")
            top = browser.run("""(() => {
              const { stage } = dalembert, height = stage.renderer.domElement.clientHeight;
              stage.camera.updateMatrixWorld();
              const at = (point) => stage.sphere.center.clone().set(...point).project(stage.camera).y;
              return Math.min(...stage.cloud.map((point) => ((1 - at(point)) / 2) * height));
            })()""")
            assert top >= browser.run("document.querySelector('#title').getBoundingClientRect().bottom") - 4
    finally:
        browser.become(1000, 640)


def test_equations_a_little_too_wide_are_made_to_fit(browser, folder):
    browser.open(view("double_pendulum", to=folder / "wide.html"), READY)
    browser.run(FRAME)
    sizes = browser.run(
        "[...document.querySelectorAll('#equations .scroll')]"
        ".map((x) => [x.scrollWidth, x.clientWidth, x.style.fontSize])"
    )
    assert sizes and all(wide <= room or size == "75%" for wide, room, size in sizes)  # in wide fonts the rest scrolls
    assert any(wide <= room for wide, room, _ in sizes)


@pytest.mark.parametrize(("name", "units"), [("double_pendulum", "(N\u2009m)"), ("cart_pole", "(N\u2009m, N)")])
def test_forces_have_the_units_of_their_joints(browser, folder, name, units):
    browser.open(view(name, to=folder / f"units-{name}.html", equations=False), READY)
    assert browser.run("document.querySelector('#plots h3').textContent").endswith(units)


def test_a_mirrored_mesh_shows_its_outside(browser, folder):
    """An octahedron is its own mirror image, so both pictures are the same; left legs often are right ones."""
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    faces = [(x, 2 + y, 4 + z) if (x + y + z) % 2 == 0 else (2 + y, x, 4 + z) for x, y, z in np.ndindex(2, 2, 2)]
    lines = [
        *("v {} {} {}".format(*corner) for corner in corners),
        *("f {} {} {}".format(*np.add(f, 1)) for f in faces),
    ]
    (folder / "octahedron.obj").write_text("\n".join(lines))
    shown = []
    for factors in ((1.0, 1.0, 1.0), (1.0, -1.0, 1.0)):
        shape = Shape("mesh", factors, mesh="octahedron.obj", colour=(0.9, 0.1, 0.1, 1.0))
        body = Body("leg", Inertia.sphere(1.0, 0.1), shapes=(shape,))
        leg = Mechanism("leg", (body,), (Joint("hip", "revolute", WORLD, "leg", axis=[0, 1, 0]),))
        browser.open(view(leg, to=folder / "mirrored.html", folder=folder, equations=False), READY)
        shown.append(pixels(browser))
    red = (shown[0][..., 0] > 2 * shown[0][..., 2]).mean()
    assert red > 0.05
    assert np.abs(shown[0] - shown[1]).mean() < 0.5  # of 255; seen from inside, half of it would be as dark as shadows


def pendulum(scale: float) -> Mechanism:
    """Two links of this many metres, so light that their weights are as small as they are."""
    link = Inertia(scale, [0, 0, -scale / 2], np.eye(3) * scale**3 / 12)
    down = da.Transform.from_translation([0, 0, -scale])
    joints = (
        Joint("upper", "revolute", "world", "a", axis=[0, 1, 0]),
        Joint("lower", "revolute", "a", "b", down, axis=[0, 1, 0]),
    )
    return Mechanism("pendulum", (Body("a", link), Body("b", link)), joints)


@pytest.mark.parametrize("scale", [1e-5, 1e3])
def test_a_mechanism_looks_the_same_at_any_size(browser, folder, scale):
    """The picture, the share of the plot that its curves fill, and the time it takes to see a short motion."""
    seen = []
    for size in (1.0, scale):
        rate = np.sqrt(1 / size)  # times of pendulums go with the root of their length
        swing = da.simulate(pendulum(size), [1.0, 0.5], t=np.linspace(0, 2 / rate, 201))
        browser.open(view(pendulum(size), swing, to=folder / "size.html"), READY)
        browser.click("#play")
        x, y, w, h = browser.place("#scrub")
        browser.drag((x + w / 2, y + h / 2), (x + w / 2, y + h / 2))
        browser.run(FRAME)
        ink = inked(browser)
        lasts = browser.run("dalembert.state.time / Number(document.querySelector('#speed').value)")
        seen.append((pixels(browser), ink, 2 * lasts, browser.run("document.querySelector('.legend').textContent")))
    (one, ink, _, _), (other, same, lasts, legend) = seen
    assert (np.abs(one - other).max(axis=2) > 30).mean() < 0.02
    assert same == pytest.approx(ink, rel=0.2) and "kinetic 0.000" not in legend
    assert lasts > 1
