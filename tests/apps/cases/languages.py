# Python, its libraries, node, databases, MPI.  SPDX-License-Identifier: Apache-2.0
for name in ('threading', 'queues', 'futures', 'asyncio', 'subprocess', 'signals', 'faulthandler', 'fork_in_threads',
             'pty', 'sqlite', 'sockets'):
    case(f'py-{name}', f'$PY $P/py_{name}.py', timeout=60)
for method in ('fork', 'spawn', 'forkserver'):
    case(f'py-multiprocessing-{method}', f'$PY $P/py_multiprocessing.py {method}', timeout=120)
    case(f'py-process-pool-{method}', f'$PY $P/py_futures.py {method}', timeout=120, fast=method == 'fork')
case('py-keyboard-interrupt', '$PY $P/interrupted.py', whole=False)

case('numpy-threads', '$PY $P/np_threads.py', modules=['numpy'], timeout=120)
case('numpy-wheels', '$PY $P/np_threads.py scipy', venv=True, modules=['numpy', 'scipy'], timeout=180)
case('numpy-wheels-pool', '$PY $P/np_pool.py', venv=True, modules=['numpy'], timeout=180, fast=False)
case('scipy-linalg', '$PY $P/np_threads.py scipy', modules=['scipy'], timeout=120)
case('sklearn-threading', '$PY $P/skl.py threading', modules=['sklearn'], timeout=180)
case('sklearn-loky', '$PY $P/skl.py loky', modules=['sklearn'], timeout=180, fast=False, stderr=False)
case('sklearn-models', '$PY $P/skl.py models', modules=['sklearn'], timeout=180, fast=False)
for layer in ('workqueue', 'omp', 'tbb'):
    case(f'numba-{layer}', f'NUMBA_THREADING_LAYER={layer} NUMBA_NUM_THREADS=2 $PY $P/numba_prange.py',
         modules=['numba'], timeout=180, fast=layer == 'omp', stderr=False)
case('torch', '$PY $P/torch_cpu.py', modules=['torch'], timeout=240, fast=False, stderr=False)

case('pytest-xdist', r'''
mkdir t; for i in 1 2 3 4; do cat > t/test_$i.py <<END
import threading, time, subprocess, pytest
@pytest.mark.parametrize("n", range(6))
def test_sleep(n): time.sleep(0.01)
def test_threads():
    out = []; t = [threading.Thread(target=out.append, args=(i,)) for i in range(8)]
    [x.start() for x in t]; [x.join() for x in t]; assert sorted(out) == list(range(8))
def test_child(): assert subprocess.check_output(["echo", "x"]) == b"x\n"
def test_fails(): assert $i != 3
END
done
$PY -m pytest -q -n 4 -p no:cacheprovider t | tail -2; echo "${PIPESTATUS[0]}"
''', modules=['pytest', 'xdist'], timeout=120, strip=[(r'in [\d.]+s.*', 'in T')])

case('sqlite-cli', r'''
sqlite3 db 'pragma journal_mode=wal; create table t(x)' > /dev/null
for i in 1 2 3 4; do (for j in $(seq 10); do sqlite3 -cmd '.timeout 20000' db "insert into t values($i)"; done) & done; wait
sqlite3 db 'select x, count(*) from t group by x; pragma threads=4; pragma integrity_check'
sqlite3 :memory: 'pragma threads=4; with recursive c(n) as (select 1 union all select n + 1 from c where n < 60000) select count(*), min(n * 7919 % 60013) from (select n from c order by n * 7919 % 60013);'
''', needs=['sqlite3'])

MPI = {'mpich': ('mpirun.mpich', ''), 'openmpi': ('mpirun.openmpi', '--allow-run-as-root --oversubscribe')}
for name, (run, flags) in MPI.items():
    slow = dict(needs=[run], builds=[f'mpi-{name}'], whole=False, stderr=False, timeout=180,
                env={'OMPI_MCA_btl_base_warn_component_unused': '0'})
    case(f'mpi-{name}-whole', f'$UNDER {run} {flags} -n 4 $BIN/mpi-{name}', **slow)
    case(f'mpi-{name}-each', f'{run} {flags} -n 4 $UNDER $BIN/mpi-{name}', **slow)
    case(f'mpi-{name}-failing', f"$UNDER {run} {flags} -n 2 sh -c 'exit 3' > /dev/null 2>&1; echo $?", fast=False,
         **slow)
