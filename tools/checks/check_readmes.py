"""Every top-level folder says its role in a README.md."""

from repository import FOLDERS, ROOT, finish

finish([f"{folder}/README.md is missing" for folder in FOLDERS if not (ROOT / folder / "README.md").is_file()])
