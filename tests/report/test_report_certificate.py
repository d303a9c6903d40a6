"""The certificate of an exact proof on paper: it is the one of the proof, and of the mechanism at hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dalembert as da
from dalembert.cli import main
from dalembert.errors import ArgumentError
from dalembert.proof import prove
from dalembert.report import document
from dalembert.report.markdown import to_markdown


@pytest.fixture(scope="module")
def proof():
    return prove(da.load("rp_arm"), derived=False)


def test_reports_print_what_is_needed_to_check_the_proof_again(proof):
    arm = da.load("rp_arm")
    text = to_markdown(document(arm, agreement=False, proof=proof)).replace("\\_", "_")
    certificate = proof.certificate()
    for name in ("mechanism", "digest", "topology", "version"):
        assert certificate[name] in text, name
    assert certificate["prime"].replace("2^", "2^{").replace(" - ", "} - ") in text
    assert f"All {len(proof.rows)} identities" in text
    for row in certificate["identities"]:
        assert row["quantity"] in text and row["by"] in text and row["against"] in text


def test_a_proof_of_another_mechanism_is_refused(proof):
    with pytest.raises(ArgumentError, match="digest"):
        document(da.load("stacker"), agreement=False, proof=proof)
    with pytest.raises(ArgumentError, match="prove"):
        document(da.load("rp_arm"), agreement=False, proof="certificate.json")
    with pytest.raises(ArgumentError, match="one of a mechanism"):
        document(replace(da.derive(da.load("rp_arm")), mechanism=None), agreement=False, proof=proof)
    document(da.derive(da.load("rp_arm")), agreement=False, proof=proof)  # they remember the mechanism


def test_the_command_line_proves_and_prints(tmp_path):
    target = tmp_path / "arm.md"
    assert main(["derive", "rp_arm", "--to", str(target), "--exact", "--title", "An arm"]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# An arm") and da.load("rp_arm").digest in text
