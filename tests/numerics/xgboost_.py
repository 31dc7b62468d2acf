# Boosted trees by XGBoost: the model and what it predicts.  SPDX-License-Identifier: Apache-2.0
from common import THREADS, library, np, repeat

xgb = library(lambda: __import__("xgboost"))
random = np.random.Generator(np.random.PCG64(1))
x = random.standard_normal((2000, 20)).astype(np.float32)
y = (x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + 0.1 * random.standard_normal(2000)).astype(np.float32)


def compute():
    data = xgb.DMatrix(x, label=y, nthread=THREADS)
    model = xgb.train({"tree_method": "hist", "max_depth": 5, "nthread": THREADS, "subsample": 0.8, "seed": 2}, data, 8)
    return bytes(model.save_raw("json")), model.predict(data)


repeat(compute)
