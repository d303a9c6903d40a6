"""dalembert: equations of motion of rigid multibody systems - derived, proved equal, compiled."""

__version__ = "0.1.0.dev0"
