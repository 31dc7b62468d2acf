# bench/workloads/py_sklearn.py - scikit-learn pipelines in parallel by joblib.  SPDX-License-Identifier: Apache-2.0
"""cross_val_score(n_jobs) over pipelines that are parallel below: BLAS (PCA, ridge), OpenMP (gradient boosting,
KMeans)."""
import argparse
import sys

import joblib
import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import py_common

parser = argparse.ArgumentParser()
parser.add_argument("--pipeline", choices=["pca-ridge", "boosting", "kmeans"], default="pca-ridge")
parser.add_argument("--jobs", type=int, default=8)
parser.add_argument("--backend", choices=["threading", "loky"], default="threading")
parser.add_argument("--samples", type=int, default=2000)
py_common.add_arguments(parser)
args = parser.parse_args()

FOLDS = 8
X, y = make_classification(args.samples, n_features=60, n_informative=20, random_state=1)
pipeline = {
    "pca-ridge": lambda: make_pipeline(StandardScaler(), PCA(30, random_state=1), RidgeClassifier()),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=10, random_state=1),
    "kmeans": lambda: make_pipeline(StandardScaler(), KMeans(8, n_init=2, random_state=1), RidgeClassifier()),
}[args.pipeline]()


def scores():
    return cross_val_score(pipeline, X, y, cv=FOLDS, n_jobs=args.jobs)


with joblib.parallel_backend(args.backend):
    status = py_common.measure(f"sklearn-{args.pipeline}", "fit", FOLDS, args, scores,
                               lambda s: len(s) == FOLDS and np.mean(s) > 0.55,
                               jobs=args.jobs, backend=args.backend, sklearn=sklearn.__version__)
sys.exit(status)
