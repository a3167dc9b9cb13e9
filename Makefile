# Every target is one tool called from the environment in $(VENV), which is made first if need be.
# Set on the command line, not in the shell's environment: `make test CUDA=13 VENV=.venv-cuda13`.

CUDA        = 12
VENV        = .venv
PYTHON      = python3
UV         := $(filter-out $(abspath $(VENV))/%,$(shell command -v uv))
CONSTRAINTS = constraints$(if $(filter 13,$(CUDA)),-cuda13).txt
SCALE       = smoke

EXTRAS  = cuda$(CUDA),lab,video,peers,test
RUN     = $(VENV)/bin/python -m
LESSONS = $(wildcard notebooks/*.ipynb templates/*.ipynb)

# The stamp says what is installed: the CUDA family, the constraints, and the checkout it points into.
STAMP  := $(VENV)/.installed-cuda$(CUDA)-$(notdir $(or $(CONSTRAINTS),newest))-$(firstword $(shell pwd | cksum))
HALF   := $(VENV)/.installing
BROKEN := $(if $(wildcard $(VENV)),$(shell test -x $(VENV)/bin/python || echo yes))
OTHERS := $(filter-out $(STAMP),$(wildcard $(VENV)/.installed-* $(HALF))) $(BROKEN)
CLEAR  := $(if $(strip $(OTHERS)),--clear)

# What a caller's shell may carry that would send packages elsewhere than into $(VENV).
unexport PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT UV_SYSTEM_PYTHON UV_CONSTRAINT
export PIP_USER = 0

ifeq ($(wildcard tutorial_utils/placement.py),)
  $(error Run make in the root of the checkout, where the Makefile lies: `cd PATH/TO/CHECKOUT` or `make -C PATH/TO/CHECKOUT`)
endif
ifeq ($(filter 12 13,$(CUDA)),)
  $(error CUDA=$(CUDA): choose 12 (the default; drivers from 525 on) or 13 (drivers from 580 on))
endif
ifneq ($(words $(VENV)),1)
  $(error VENV=$(VENV): name one folder, without spaces)
endif

.PHONY: help lab test data lint constraints clean rebuild
.DELETE_ON_ERROR:

help: ## Show this list
	@echo "Keep a GPU fed: NVIDIA DALI and PyTorch, lesson by lesson. The first call sets everything up in $(VENV)."
	@echo
	@sed -n 's/^\([a-z]*\):.* ## /  make \1@/p' Makefile | tr @ '\t' | expand -t 24
	@echo
	@echo "  CUDA=13               the CUDA 13 family (drivers from 580 on); the default, 12, is for drivers from 525 on"
	@echo "  LAB_FLAGS=...         handed to JupyterLab, such as --no-browser or --port=8890"
	@echo "  PYTEST_FLAGS=...      handed to pytest, such as '-k monitor' or '-m install'"
	@echo "  SCALE=workshop        what make data makes: smoke (the default), workshop or article"
	@echo "  VENV=.venv            the folder of the environment"
	@echo "  PYTHON=python3        the Python that makes the environment, 3.11 or newer"
	@echo "  UV=/path/to/uv        install with this uv; UV= (empty) installs with venv and pip"
	@echo "  CONSTRAINTS=          (empty) install the newest allowed versions, not the tested ones"

lab: $(STAMP) ## Open JupyterLab on lesson 00
	$(RUN) jupyterlab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb \
	    $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_FLAGS)

test: $(STAMP) ## Run the unit tests and every notebook, headless
	$(RUN) pytest --nbmake --nbmake-kernel=python3 --nbmake-timeout=600 tests notebooks $(PYTEST_FLAGS)

data: $(STAMP) ## Make the image pairs (SCALE)
	$(RUN) data_scripts.make_pairs --scale $(SCALE)

lint: $(STAMP) ## Check code and notebooks: ruff, its format, no stored outputs
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) nbstripout --verify --keep-id $(LESSONS)

COMPILE = $(UV) pip compile --quiet --upgrade pyproject.toml --universal --python-version 3.11 \
    --extra lab --extra video --extra peers --extra test \
    --custom-compile-command "make constraints"

constraints: ## Renew both constraints files: the newest versions that go together
ifeq ($(UV),)
	scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && $(PYTHON) -m venv "$$scratch" && \
	    "$$scratch/bin/pip" install --quiet uv && $(MAKE) constraints UV="$$scratch/bin/uv"
else
	$(COMPILE) --extra cuda12 --output-file constraints.txt
	$(COMPILE) --extra cuda13 --output-file constraints-cuda13.txt
endif

clean: ## Remove the environment and the tools' caches; data stays
	@test ! -e $(VENV) || test -e $(VENV)/pyvenv.cfg || \
	    { echo >&2 "VENV=$(VENV) is no Python environment: nothing removed."; exit 1; }
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis

# Half an installation, another CUDA family or a moved checkout: made anew. An environment of
# one's own, or new constraints: installed into. The stamp appears only when all went well.
$(STAMP): pyproject.toml $(CONSTRAINTS) $(if $(CLEAR),rebuild)
	@echo "Setting up $(VENV) with the CUDA $(CUDA) libraries: gigabytes and minutes the first time, seconds afterwards."
	@test ! -e $(VENV) || test -e $(VENV)/pyvenv.cfg || \
	    { echo >&2 "VENV=$(VENV) exists and is no Python environment. Move it away, or choose another VENV=FOLDER."; exit 1; }
ifneq ($(UV),)
	$(if $(CLEAR)$(if $(wildcard $(VENV)),,new),$(UV) venv --quiet $(CLEAR) \
	    $(if $(filter command,$(origin PYTHON)),--python $(PYTHON)) $(VENV))
	@rm -f $(VENV)/.installed-* && touch $(HALF)
	$(UV) pip install --python $(VENV)/bin/python -e '.[$(EXTRAS)]' $(addprefix -c ,$(CONSTRAINTS))
else
	@command -v $(PYTHON) >/dev/null || \
	    { echo >&2 "There is no $(PYTHON). On Debian or Ubuntu: apt install python3 python3-venv. Else: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo >&2 "$(PYTHON) is $$($(PYTHON) -V 2>&1), but 3.11 or newer is needed. Name one: make PYTHON=python3.12. Or install uv, which brings one."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo >&2 "$(PYTHON) cannot make environments: its venv module is missing. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	$(if $(CLEAR)$(if $(wildcard $(VENV)),,new),$(PYTHON) -m venv $(CLEAR) $(VENV))
	@rm -f $(VENV)/.installed-* && touch $(HALF)
	@$(RUN) pip --version >/dev/null 2>&1 || $(RUN) ensurepip
	$(RUN) pip install -e '.[$(EXTRAS)]' $(addprefix -c ,$(CONSTRAINTS))
endif
	@mv $(HALF) $@
