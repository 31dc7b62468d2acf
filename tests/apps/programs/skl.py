# scikit-learn: joblib by threads and by processes, OpenMP inside.  SPDX-License-Identifier: Apache-2.0
import sys
import warnings

import joblib
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

warnings.simplefilter('ignore')
x, y = make_classification(1500, 20, random_state=0)


def main(how):
    if how == 'models':
        h = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(x, y)
        print('boosting', round(h.score(x, y), 3))
        k = KMeans(8, n_init=3, random_state=0).fit(x)
        print('kmeans', len(set(k.labels_)))
        return
    with joblib.parallel_backend(how, n_jobs=4):
        f = RandomForestClassifier(40, random_state=0).fit(x, y)
        print('forest', round(f.score(x, y), 3))
        s = cross_val_score(LogisticRegression(max_iter=200), x, y, cv=6)
        print('cross', np.round(s, 3))
        print('parallel', sum(joblib.Parallel()(joblib.delayed(pow)(i, 2) for i in range(100))))
        s = cross_val_score(HistGradientBoostingClassifier(max_iter=10, random_state=0), x, y, cv=4)
        print('boosting', np.round(s, 3))


if __name__ == '__main__':
    main(sys.argv[1])
