# Boosted trees by LightGBM: the model and what it predicts.  SPDX-License-Identifier: Apache-2.0
from common import THREADS, library, np, repeat

lgb = library(lambda: __import__("lightgbm"))
random = np.random.Generator(np.random.PCG64(1))
x = random.standard_normal((4000, 30))
y = x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + 0.1 * random.standard_normal(4000)


def compute():
    options = {"objective": "regression", "num_threads": THREADS, "deterministic": True, "force_row_wise": True, "verbose": -1, "seed": 2}
    model = lgb.train(options, lgb.Dataset(x, y, params=options), 15)
    return model.model_to_string().encode(), model.predict(x)


repeat(compute)
