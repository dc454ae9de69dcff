"""Defaults that libraries document for their hyper-parameters: facts, with their source.

Names are the library's own; what else people call them is in `bhpt.spaces.documented`. A
hyper-parameter that has no default there (it depends on the data, or none is set) is left out.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """One class or program whose hyper-parameters have documented defaults.

    Attributes:
        name: What people call it.
        source: The page of its documentation, or the file of its source, that says so.
        numbers: Default of each numeric hyper-parameter, by its name there.
        words: Default of each that is a word or true/false.
    """

    name: str
    source: str
    numbers: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


LIBRARIES = (
    Library(
        "XGBoost",
        "xgboost.readthedocs.io, XGBoost Parameters",
        {
            "eta": 0.3, "learning_rate": 0.3, "gamma": 0.0, "min_split_loss": 0.0,
            "max_depth": 6, "min_child_weight": 1.0, "max_delta_step": 0.0, "subsample": 1.0,
            "colsample_bytree": 1.0, "colsample_bylevel": 1.0, "colsample_bynode": 1.0,
            "lambda": 1.0, "reg_lambda": 1.0, "alpha": 0.0, "reg_alpha": 0.0, "max_bin": 256,
            "num_parallel_tree": 1, "scale_pos_weight": 1.0, "rate_drop": 0.0, "skip_drop": 0.0,
        },
        {
            "tree_method": "auto", "grow_policy": "depthwise", "booster": "gbtree",
            "sampling_method": "uniform",
        },
    ),
    Library(
        "LightGBM",
        "lightgbm.readthedocs.io, Parameters; LGBMClassifier",
        {
            "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20,
            "min_child_samples": 20, "min_sum_hessian_in_leaf": 1e-3, "min_child_weight": 1e-3,
            "bagging_fraction": 1.0, "subsample": 1.0, "bagging_freq": 0, "subsample_freq": 0,
            "feature_fraction": 1.0, "feature_fraction_bynode": 1.0, "colsample_bytree": 1.0,
            "lambda_l1": 0.0, "reg_alpha": 0.0, "lambda_l2": 0.0, "reg_lambda": 0.0,
            "min_gain_to_split": 0.0, "min_split_gain": 0.0, "max_bin": 255, "path_smooth": 0.0,
            "drop_rate": 0.1, "skip_drop": 0.5, "max_drop": 50, "top_rate": 0.2,
            "other_rate": 0.1, "cat_smooth": 10.0, "cat_l2": 10.0, "min_data_in_bin": 3,
        },
        {"boosting": "gbdt", "boosting_type": "gbdt", "extra_trees": "false"},
    ),
    Library(
        "CatBoost",
        "catboost.ai, Training parameters, Common parameters",
        {
            "learning_rate": 0.03, "depth": 6, "max_depth": 6, "l2_leaf_reg": 3.0,
            "random_strength": 1.0, "bagging_temperature": 1.0, "rsm": 1.0,
            "colsample_bylevel": 1.0, "border_count": 254, "min_data_in_leaf": 1,
            "max_leaves": 31, "model_size_reg": 0.5,
        },
        {"grow_policy": "symmetric_tree", "score_function": "cosine"},
    ),
    Library(
        "scikit-learn HistGradientBoosting",
        "scikit-learn.org, HistGradientBoostingClassifier",
        {
            "learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20,
            "l2_regularization": 0.0, "max_features": 1.0, "max_bins": 255, "max_iter": 100,
        },
    ),
    Library(
        "scikit-learn GradientBoosting",
        "scikit-learn.org, GradientBoostingClassifier",
        {
            "learning_rate": 0.1, "n_estimators": 100, "subsample": 1.0, "max_depth": 3,
            "min_samples_split": 2, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0,
            "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
    ),
    Library(
        "scikit-learn RandomForest",
        "scikit-learn.org, RandomForestClassifier",
        {
            "n_estimators": 100, "min_samples_split": 2, "min_samples_leaf": 1,
            "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
        {"criterion": "gini", "max_features": "sqrt", "bootstrap": "true"},
    ),
    Library(
        "scikit-learn SGDClassifier",
        "scikit-learn.org, SGDClassifier",
        {
            "alpha": 1e-4, "l1_ratio": 0.15, "eta0": 0.01, "power_t": 0.5, "epsilon": 0.1,
            "tol": 1e-3,
        },
        {"penalty": "l2", "learning_rate": "optimal", "average": "false", "loss": "hinge"},
    ),
    Library(
        "scikit-learn SGDRegressor",
        "scikit-learn.org, SGDRegressor",
        {
            "alpha": 1e-4, "l1_ratio": 0.15, "eta0": 0.01, "power_t": 0.25, "epsilon": 0.1,
            "tol": 1e-3,
        },
        {
            "penalty": "l2", "learning_rate": "invscaling", "average": "false",
            "loss": "squared_error",
        },
    ),
    Library(
        "scikit-learn MLP",
        "scikit-learn.org, MLPClassifier and MLPRegressor; a batch is at most 200",
        {
            "hidden_layer_sizes": 100, "alpha": 1e-4, "batch_size": 200,
            "learning_rate_init": 1e-3, "power_t": 0.5, "momentum": 0.9, "beta_1": 0.9,
            "beta_2": 0.999, "epsilon": 1e-8, "tol": 1e-4,
        },
        {
            "activation": "relu", "solver": "adam", "learning_rate": "constant",
            "nesterovs_momentum": "true",
        },
    ),
    Library(
        "scikit-learn SVM",
        "scikit-learn.org, SVC and SVR",
        {"c": 1.0, "coef0": 0.0, "degree": 3, "tol": 1e-3, "epsilon": 0.1},
        {"kernel": "rbf", "gamma": "scale"},
    ),
    Library(
        "scikit-learn LogisticRegression",
        "scikit-learn.org, LogisticRegression; penalty until 1.7",
        {"c": 1.0, "tol": 1e-4, "max_iter": 100},
        {"penalty": "l2", "solver": "lbfgs"},
    ),
    Library(
        "PyTorch Adam",
        "pytorch.org, torch.optim.Adam; weight decay of AdamW; torch.nn.Dropout, CrossEntropyLoss",
        {
            "lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01,
            "dropout": 0.5, "label_smoothing": 0.0,
        },
        {"amsgrad": "false"},
    ),
    Library(
        "torchvision",
        "github.com/pytorch/vision, references/classification/train.py",
        {
            "lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "batch_size": 32,
            "label_smoothing": 0.0, "lr_step_size": 30, "lr_gamma": 0.1, "lr_warmup_epochs": 0,
            "lr_warmup_decay": 0.01, "mixup_alpha": 0.0, "cutmix_alpha": 0.0, "random_erase": 0.0,
        },
        {"opt": "sgd", "lr_scheduler": "steplr"},
    ),
    Library(
        "Keras",
        "keras.io, optimizers Adam and RMSprop, Model.compile, Model.fit, regularizers L1 and L2",
        {
            "learning_rate": 1e-3, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7,
            "rho": 0.9, "batch_size": 32, "kernel_regularizer": 0.01, "l1": 0.01, "l2": 0.01,
        },
        {"optimizer": "rmsprop", "amsgrad": "false"},
    ),
    Library(
        "Hugging Face",
        "huggingface.co, TrainingArguments; BertConfig, whose classifier takes the hidden dropout; "
        "PEFT, LoraConfig",
        {
            "learning_rate": 5e-5, "weight_decay": 0.0, "adam_beta1": 0.9, "adam_beta2": 0.999,
            "adam_epsilon": 1e-8, "max_grad_norm": 1.0, "num_train_epochs": 3,
            "per_device_train_batch_size": 8, "gradient_accumulation_steps": 1,
            "warmup_ratio": 0.0, "warmup_steps": 0, "label_smoothing_factor": 0.0,
            "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
            "classifier_dropout": 0.1, "lora_alpha": 8, "lora_dropout": 0.0, "r": 8,
        },
        {"lr_scheduler_type": "linear", "optim": "adamw_torch"},
    ),
    Library(
        "Stable-Baselines3 PPO",
        "stable-baselines3.readthedocs.io, PPO",
        {
            "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10,
            "gamma": 0.99, "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.0,
            "vf_coef": 0.5, "max_grad_norm": 0.5,
        },
        {"normalize_advantage": "true"},
    ),
    Library(
        "Stable-Baselines3 A2C",
        "stable-baselines3.readthedocs.io, A2C",
        {
            "learning_rate": 7e-4, "n_steps": 5, "gamma": 0.99, "gae_lambda": 1.0,
            "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "rms_prop_eps": 1e-5,
        },
        {"normalize_advantage": "false", "use_rms_prop": "true"},
    ),
    Library(
        "Stable-Baselines3 DQN",
        "stable-baselines3.readthedocs.io, DQN",
        {
            "learning_rate": 1e-4, "buffer_size": 1_000_000, "learning_starts": 100,
            "batch_size": 32, "tau": 1.0, "gamma": 0.99, "train_freq": 4, "gradient_steps": 1,
            "target_update_interval": 10_000, "exploration_fraction": 0.1,
            "exploration_initial_eps": 1.0, "exploration_final_eps": 0.05, "max_grad_norm": 10,
        },
    ),
    Library(
        "Stable-Baselines3 SAC",
        "stable-baselines3.readthedocs.io, SAC; delay and noise of TD3",
        {
            "learning_rate": 3e-4, "buffer_size": 1_000_000, "learning_starts": 100,
            "batch_size": 256, "tau": 0.005, "gamma": 0.99, "train_freq": 1,
            "gradient_steps": 1, "target_update_interval": 1, "policy_delay": 2,
            "target_policy_noise": 0.2, "target_noise_clip": 0.5,
        },
    ),
    Library(
        "nanoGPT",
        "github.com/karpathy/nanoGPT, train.py",
        {
            "learning_rate": 6e-4, "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95,
            "grad_clip": 1.0, "warmup_iters": 2000, "min_lr": 6e-5, "dropout": 0.0,
            "n_layer": 12, "n_head": 12, "n_embd": 768, "batch_size": 12, "block_size": 1024,
            "gradient_accumulation_steps": 40,
        },
    ),
    Library(
        "Surprise SVD",
        "surprise.readthedocs.io, SVD",
        {
            "n_factors": 100, "n_epochs": 20, "lr_all": 0.005, "reg_all": 0.02,
            "init_mean": 0.0, "init_std_dev": 0.1,
        },
        {"biased": "true"},
    ),
    Library(
        "implicit ALS",
        "benfred.github.io/implicit, AlternatingLeastSquares",
        {"factors": 100, "regularization": 0.01, "alpha": 1.0, "iterations": 15},
    ),
    Library(
        "PyTorch Forecasting",
        "pytorch-forecasting.readthedocs.io, TemporalFusionTransformer; lightning.ai, Trainer",
        {
            "learning_rate": 1e-3, "hidden_size": 16, "lstm_layers": 1, "dropout": 0.1,
            "attention_head_size": 4, "hidden_continuous_size": 8, "weight_decay": 0.0,
            "accumulate_grad_batches": 1,
        },
    ),
    Library(
        "diffusers",
        "github.com/huggingface/diffusers, "
        "examples/unconditional_image_generation/train_unconditional.py",
        {
            "learning_rate": 1e-4, "adam_beta1": 0.95, "adam_beta2": 0.999,
            "adam_weight_decay": 1e-6, "adam_epsilon": 1e-8, "max_grad_norm": 1.0,
            "ema_inv_gamma": 1.0, "ema_power": 0.75, "ema_max_decay": 0.9999,
            "lr_warmup_steps": 500, "train_batch_size": 16, "gradient_accumulation_steps": 1,
        },
        {"lr_scheduler": "cosine"},
    ),
    Library(
        "scikit-learn AdaBoost",
        "scikit-learn.org, AdaBoostClassifier; max_depth is that of its estimator",
        {"learning_rate": 1.0, "n_estimators": 50, "max_depth": 1},
    ),
    Library(
        "ranger",
        "cran.r-project.org, ranger, for classification",
        {"num_trees": 500, "min_node_size": 1, "sample_fraction": 1.0},
        {"replace": "true", "splitrule": "gini"},
    ),
    Library(
        "scikit-learn LatentDirichletAllocation",
        "scikit-learn.org, LatentDirichletAllocation",
        {
            "n_components": 10, "learning_decay": 0.7, "learning_offset": 10.0, "batch_size": 128,
            "max_iter": 10,
        },
    ),
    Library(
        "gensim LdaModel",
        "radimrehurek.com/gensim, models.ldamodel",
        {
            "num_topics": 100, "chunksize": 2000, "decay": 0.5, "offset": 1.0, "passes": 1,
            "iterations": 50, "gamma_threshold": 1e-3, "minimum_probability": 0.01,
        },
    ),
    Library(
        "scikit-learn mixtures",
        "scikit-learn.org, GaussianMixture and BayesianGaussianMixture",
        {"n_components": 1, "reg_covar": 1e-6, "tol": 1e-3, "max_iter": 100},
        {"covariance_type": "full", "init_params": "kmeans"},
    ),
    Library(
        "gensim Word2Vec",
        "radimrehurek.com/gensim, models.word2vec",
        {
            "alpha": 0.025, "min_alpha": 1e-4, "window": 5, "negative": 5, "ns_exponent": 0.75,
            "sample": 1e-3, "vector_size": 100, "min_count": 5, "epochs": 5,
        },
    ),
    Library(
        "fastText",
        "fasttext.cc, options of the unsupervised models",
        {"lr": 0.05, "dim": 100, "ws": 5, "neg": 5, "t": 1e-4, "min_count": 5, "epoch": 5},
    ),
    Library(
        "Stan",
        "mc-stan.org, CmdStan user's guide, sampling",
        {
            "delta": 0.8, "stepsize": 1.0, "stepsize_jitter": 0.0, "gamma": 0.05,
            "kappa": 0.75, "t0": 10, "max_depth": 10,
        },
    ),
    Library(
        "NumPyro",
        "num.pyro.ai, HMC and NUTS",
        {"step_size": 1.0, "target_accept_prob": 0.8, "max_tree_depth": 10},
    ),
    Library(
        "PyMC",
        "pymc.io, NUTS",
        {"target_accept": 0.8, "max_treedepth": 10},
    ),
    Library(
        "estool",
        "github.com/hardmaru/estool, es.py, OpenES",
        {
            "sigma_init": 0.1, "sigma_decay": 0.999, "sigma_limit": 0.01, "learning_rate": 0.01,
            "learning_rate_decay": 0.9999, "learning_rate_limit": 1e-3, "weight_decay": 0.01,
            "popsize": 256,
        },
        {"antithetic": "false", "rank_fitness": "true", "forget_best": "true"},
    ),
    Library(
        "OpenAI evolution strategies",
        "github.com/openai/evolution-strategies-starter, configurations/humanoid.json",
        {"noise_stdev": 0.02, "l2coeff": 0.005, "stepsize": 0.01, "ac_noise_std": 0.01},
    ),
    Library(
        "differential evolution",
        "docs.scipy.org, differential_evolution; mutation is drawn from 0.5 to 1",
        {"popsize": 15, "mutation": 0.75, "recombination": 0.7, "tol": 0.01},
        {"strategy": "best1bin"},
    ),
    Library(
        "PySwarms",
        "pyswarms.readthedocs.io, GlobalBestPSO, the example",
        {"c1": 0.5, "c2": 0.3, "w": 0.9, "n_particles": 10},
    ),
    Library(
        "pyswarm",
        "pythonhosted.org/pyswarm, pso",
        {"swarmsize": 100, "omega": 0.5, "phip": 0.5, "phig": 0.5},
    ),
    Library(
        "DEAP",
        "github.com/DEAP/deap, examples/ga/onemax.py",
        {"cxpb": 0.5, "mutpb": 0.2, "tournsize": 3, "indpb": 0.05},
    ),
    Library(
        "Ultralytics YOLO",
        "docs.ultralytics.com, Configuration; ultralytics/cfg/default.yaml",
        {
            "lr0": 0.01, "lrf": 0.01, "momentum": 0.937, "weight_decay": 5e-4,
            "warmup_epochs": 3.0, "warmup_momentum": 0.8, "box": 7.5, "cls": 0.5, "dfl": 1.5,
            "hsv_h": 0.015, "hsv_s": 0.7, "hsv_v": 0.4, "degrees": 0.0, "translate": 0.1,
            "scale": 0.5, "shear": 0.0, "fliplr": 0.5, "flipud": 0.0, "mosaic": 1.0,
            "mixup": 0.0, "copy_paste": 0.0, "batch": 16, "warmup_bias_lr": 0.1,
        },
    ),
    Library(
        "PyTorch Metric Learning",
        "kevinmusgrave.github.io/pytorch-metric-learning, TripletMarginLoss and MarginLoss",
        {"margin": 0.05, "beta": 1.2, "nu": 0.0},
    ),
    Library(
        "SimCLR",
        "github.com/google-research/simclr, tf2/run.py",
        {
            "learning_rate": 0.3, "temperature": 0.1, "weight_decay": 1e-6, "warmup_epochs": 10,
            "train_batch_size": 512, "momentum": 0.9, "proj_out_dim": 128,
        },
        {"optimizer": "lars"},
    ),
    Library(
        "GPyTorch",
        "docs.gpytorch.ai, GP regression tutorial; kernels start at softplus(0)",
        {"lr": 0.1, "lengthscale": 0.693, "outputscale": 0.693, "noise": 0.693},
    ),
    Library(
        "scikit-learn GaussianProcess",
        "scikit-learn.org, GaussianProcessRegressor and its kernels",
        {"length_scale": 1.0, "constant_value": 1.0, "noise_level": 1.0, "nu": 1.5, "alpha": 1e-10},
    ),
    Library(
        "scikit-learn kernel approximation",
        "scikit-learn.org, RBFSampler and Nystroem; LinearSVC; SGDClassifier",
        {"gamma": 1.0, "n_components": 100, "c": 1.0, "alpha": 1e-4},
    ),
    Library(
        "LIBSVM",
        "csie.ntu.edu.tw/~cjlin/libsvm, svm-train",
        {"cost": 1.0, "nu": 0.5, "degree": 3, "epsilon": 0.1, "coef0": 0.0},
        {"kernel": "rbf"},
    ),
    Library(
        "Flower",
        "flower.ai, strategies FedAvg, FedAvgM and FedAdam; examples/quickstart-pytorch",
        {
            "fraction_fit": 1.0, "server_learning_rate": 1.0, "server_momentum": 0.0, "eta": 0.1,
            "eta_l": 0.1, "beta_1": 0.9, "beta_2": 0.99, "tau": 1e-9, "local_epochs": 1,
        },
    ),
    Library(
        "TensorFlow Privacy",
        "github.com/tensorflow/privacy, tutorials/mnist_dpsgd_tutorial.py",
        {
            "l2_norm_clip": 1.0, "noise_multiplier": 1.1, "learning_rate": 0.15,
            "batch_size": 256,
        },
    ),
    Library(
        "Opacus",
        "github.com/pytorch/opacus, examples/mnist.py",
        {"lr": 0.1, "sigma": 1.0, "max_per_sample_grad_norm": 1.0, "batch_size": 64},
    ),
    Library(
        "Keras Ftrl",
        "keras.io, Ftrl",
        {
            "learning_rate": 1e-3, "learning_rate_power": -0.5,
            "initial_accumulator_value": 0.1, "l1_regularization_strength": 0.0,
            "l2_regularization_strength": 0.0, "beta": 0.0,
        },
    ),
    Library(
        "datatable Ftrl",
        "datatable.readthedocs.io, models.Ftrl",
        {"alpha": 0.005, "beta": 1.0, "lambda1": 0.0, "lambda2": 0.0, "nbins": 1_000_000},
    ),
    Library(
        "Vowpal Wabbit",
        "vowpalwabbit.org, command-line arguments",
        {"learning_rate": 0.5, "power_t": 0.5, "bit_precision": 18, "l1": 0.0, "l2": 0.0},
    ),
    Library(
        "LightFM",
        "making.lyst.com/lightfm, LightFM",
        {
            "no_components": 10, "learning_rate": 0.05, "rho": 0.95, "item_alpha": 0.0,
            "user_alpha": 0.0, "max_sampled": 10, "epsilon": 1e-6,
        },
        {"loss": "logistic", "learning_schedule": "adagrad"},
    ),
    Library(
        "implicit BPR",
        "benfred.github.io/implicit, BayesianPersonalizedRanking",
        {"factors": 100, "learning_rate": 0.01, "regularization": 0.01, "iterations": 100},
    ),
    Library(
        "Spark ALS",
        "spark.apache.org, pyspark.ml.recommendation.ALS",
        {"rank": 10, "reg_param": 0.1, "alpha": 1.0, "max_iter": 10},
    ),
    Library(
        "RotatE",
        "github.com/DeepGraphLearning/KnowledgeGraphEmbedding, codes/run.py",
        {
            "learning_rate": 1e-4, "gamma": 12.0, "adversarial_temperature": 1.0,
            "negative_sample_size": 128, "batch_size": 1024, "hidden_dim": 500,
            "regularization": 0.0,
        },
    ),
    Library(
        "PyKEEN",
        "pykeen.readthedocs.io, TransE, MarginRankingLoss, BasicNegativeSampler",
        {"embedding_dim": 50, "margin": 1.0, "num_negs_per_pos": 1},
    ),
    Library(
        "FT-Transformer",
        "github.com/yandex-research/rtdl, FTTransformer.make_default and its optimizer",
        {
            "lr": 1e-4, "weight_decay": 1e-5, "d_token": 192, "n_blocks": 3,
            "attention_dropout": 0.2, "ffn_dropout": 0.1, "residual_dropout": 0.0,
        },
    ),
    Library(
        "PyTorch Geometric",
        "github.com/pyg-team/pytorch_geometric, examples/gcn.py, benchmark/citation: appnp, gat",
        {
            "lr": 0.01, "weight_decay": 5e-4, "hidden_channels": 16, "dropout": 0.5,
            "alpha": 0.1, "heads": 8,
        },
    ),
    Library(
        "DCGAN",
        "pytorch.org, DCGAN tutorial",
        {
            "lr": 2e-4, "beta1": 0.5, "beta2": 0.999, "ngf": 64, "ndf": 64, "nz": 100,
            "batch_size": 128,
        },
    ),
    Library(
        "ProGAN",
        "github.com/tkarras/progressive_growing_of_gans, config.py",
        {
            "g_learning_rate_max": 1e-3, "d_learning_rate_max": 1e-3, "adam_beta1": 0.0,
            "adam_beta2": 0.99, "g_smoothing": 0.999, "iwass_lambda": 10.0,
            "iwass_epsilon": 1e-3, "d_training_repeats": 1,
        },
    ),
    Library(
        "pycox",
        "github.com/havakv/pycox, examples/cox-ph.ipynb",
        {"lr": 0.01, "num_nodes": 32, "dropout": 0.1, "batch_size": 256},
    ),
    Library(
        "SIREN",
        "github.com/vsitzmann/siren, experiment_scripts/train_img.py, modules.py, notebook",
        {"omega_0": 30.0, "first_omega_0": 30.0, "hidden_features": 256, "lr": 1e-4},
    ),
    Library(
        "DeepXDE",
        "github.com/lululxvi/deepxde, examples/pinn_forward; width of Burgers.py",
        {"lr": 1e-3, "loss_weights": 1.0, "layer_size": 20},
        {"activation": "tanh"},
    ),
    Library(
        "grok",
        "github.com/openai/grok, grok/training.py",
        {
            "max_lr": 1e-3, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.98, "n_layers": 2,
            "d_model": 128, "n_heads": 4, "dropout": 0.0, "warmup_steps": 10,
        },
    ),
    Library(
        "grokking of modular addition",
        "github.com/neelnanda-io/Grokking, the notebook",
        {
            "lr": 1e-3, "weight_decay": 1.0, "beta1": 0.9, "beta2": 0.98, "num_layers": 1,
            "d_model": 128, "num_heads": 4,
        },
    ),
    Library(
        "RepDistiller",
        "github.com/HobbitLong/RepDistiller, train_student.py; weights as its README runs it",
        {
            "kd_t": 4.0, "alpha": 0.9, "learning_rate": 0.05, "momentum": 0.9,
            "weight_decay": 5e-4, "batch_size": 64, "lr_decay_rate": 0.1,
        },
    ),
    Library(
        "Keras LSTM",
        "keras.io, LSTM; tensorflow.org, BasicLSTMCell",
        {"dropout": 0.0, "recurrent_dropout": 0.0, "forget_bias": 1.0},
        {"unit_forget_bias": "true", "activation": "tanh"},
    ),
    Library(
        "U-Net",
        "github.com/mateuszbuda/brain-segmentation-pytorch, train.py and unet.py",
        {"lr": 1e-4, "init_features": 32, "batch_size": 16},
    ),
    Library(
        "CleanRL PPO",
        "github.com/vwxyzjn/cleanrl, cleanrl/ppo.py",
        {
            "learning_rate": 2.5e-4, "num_steps": 128, "gamma": 0.99, "gae_lambda": 0.95,
            "num_minibatches": 4, "update_epochs": 4, "clip_coef": 0.2, "ent_coef": 0.01,
            "vf_coef": 0.5, "max_grad_norm": 0.5,
        },
        {"anneal_lr": "true", "norm_adv": "true"},
    ),
    Library(
        "Prophet",
        "facebook.github.io/prophet, Prophet",
        {
            "changepoint_prior_scale": 0.05, "seasonality_prior_scale": 10.0,
            "holidays_prior_scale": 10.0, "changepoint_range": 0.8, "n_changepoints": 25,
        },
        {"seasonality_mode": "additive"},
    ),
    Library(
        "timm",
        "github.com/huggingface/pytorch-image-models, train.py",
        {
            "lr_base": 0.1, "momentum": 0.9, "weight_decay": 2e-5, "warmup_epochs": 5,
            "smoothing": 0.1, "drop": 0.0, "batch_size": 128, "mixup": 0.0, "cutmix": 0.0,
            "reprob": 0.0, "color_jitter": 0.4, "hflip": 0.5, "model_ema_decay": 0.9998,
            "decay_rate": 0.1,
        },
        {"opt": "sgd", "sched": "cosine"},
    ),
    Library(
        "fairseq",
        "github.com/facebookresearch/fairseq, examples/translation, Transformer of IWSLT'14",
        {
            "lr": 5e-4, "warmup_updates": 4000, "dropout": 0.3, "weight_decay": 1e-4,
            "label_smoothing": 0.1, "clip_norm": 0.0, "max_tokens": 4096,
        },
    ),
    Library(
        "scikit-learn trees",
        "scikit-learn.org, DecisionTreeClassifier",
        {
            "min_samples_split": 2, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0,
            "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
        {"criterion": "gini", "splitter": "best"},
    ),
    Library(
        "scikit-learn ExtraTrees",
        "scikit-learn.org, ExtraTreesClassifier",
        {
            "n_estimators": 100, "min_samples_split": 2, "min_samples_leaf": 1,
            "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
        {"criterion": "gini", "max_features": "sqrt", "bootstrap": "false"},
    ),
    Library(
        "scikit-learn Bagging",
        "scikit-learn.org, BaggingClassifier",
        {"n_estimators": 10, "max_features": 1.0},
        {"bootstrap": "true", "bootstrap_features": "false"},
    ),
    Library(
        "scikit-learn neighbours",
        "scikit-learn.org, KNeighborsClassifier",
        {"n_neighbors": 5, "leaf_size": 30, "p": 2},
        {"weights": "uniform", "metric": "minkowski", "algorithm": "auto"},
    ),
    Library(
        "scikit-learn linear models",
        "scikit-learn.org, ElasticNet, Lasso and Ridge",
        {"alpha": 1.0, "l1_ratio": 0.5, "tol": 1e-4, "max_iter": 1000},
        {"selection": "cyclic", "fit_intercept": "true"},
    ),
    Library(
        "scikit-learn BayesianRidge",
        "scikit-learn.org, BayesianRidge",
        {"alpha_1": 1e-6, "alpha_2": 1e-6, "lambda_1": 1e-6, "lambda_2": 1e-6, "tol": 1e-3},
    ),
    Library(
        "scikit-learn HuberRegressor",
        "scikit-learn.org, HuberRegressor",
        {"epsilon": 1.35, "alpha": 1e-4, "max_iter": 100, "tol": 1e-5},
    ),
    Library(
        "scikit-learn nu-SVM",
        "scikit-learn.org, NuSVC and OneClassSVM",
        {"nu": 0.5, "coef0": 0.0, "degree": 3, "tol": 1e-3},
        {"kernel": "rbf", "gamma": "scale"},
    ),
    Library(
        "scikit-learn naive Bayes",
        "scikit-learn.org, MultinomialNB",
        {"alpha": 1.0},
        {"fit_prior": "true"},
    ),
    Library(
        "scikit-learn TfidfVectorizer",
        "scikit-learn.org, TfidfVectorizer",
        {"min_df": 1, "max_df": 1.0},
        {"norm": "l2", "use_idf": "true", "sublinear_tf": "false", "analyzer": "word"},
    ),
    Library(
        "scikit-learn KMeans",
        "scikit-learn.org, KMeans and MiniBatchKMeans",
        {
            "n_clusters": 8, "tol": 1e-4, "max_iter": 300, "batch_size": 1024,
            "reassignment_ratio": 0.01,
        },
        {"algorithm": "lloyd"},
    ),
    Library(
        "scikit-learn DBSCAN",
        "scikit-learn.org, DBSCAN",
        {"eps": 0.5, "min_samples": 5, "leaf_size": 30},
        {"metric": "euclidean"},
    ),
    Library(
        "scikit-learn NMF",
        "scikit-learn.org, NMF",
        {"alpha_w": 0.0, "l1_ratio": 0.0, "tol": 1e-4, "max_iter": 200},
        {"solver": "cd", "beta_loss": "frobenius"},
    ),
    Library(
        "scikit-learn TSNE",
        "scikit-learn.org, TSNE",
        {"perplexity": 30.0, "early_exaggeration": 12.0, "angle": 0.5, "max_iter": 1000},
        {"init": "pca", "metric": "euclidean"},
    ),
    Library(
        "scikit-learn IsolationForest",
        "scikit-learn.org, IsolationForest",
        {"n_estimators": 100, "max_features": 1.0},
        {"bootstrap": "false"},
    ),
    Library(
        "scikit-learn BernoulliRBM",
        "scikit-learn.org, BernoulliRBM",
        {"n_components": 256, "learning_rate": 0.1, "batch_size": 10, "n_iter": 10},
    ),
    Library(
        "dual annealing",
        "docs.scipy.org, dual_annealing; temperatures depend on the objective",
        {"restart_temp_ratio": 2e-5, "visit": 2.62, "accept": -5.0, "maxiter": 1000},
    ),
    Library(
        "gplearn",
        "gplearn.readthedocs.io, SymbolicRegressor",
        {
            "population_size": 1000, "generations": 20, "tournament_size": 20,
            "parsimony_coefficient": 1e-3, "p_crossover": 0.9, "p_subtree_mutation": 0.01,
            "p_hoist_mutation": 0.01, "p_point_mutation": 0.01,
        },
        {"init_method": "half_and_half"},
    ),
    Library(
        "NGBoost",
        "github.com/stanfordmlgroup/ngboost, NGBRegressor",
        {"n_estimators": 500, "learning_rate": 0.01, "minibatch_frac": 1.0, "col_sample": 1.0},
        {"natural_gradient": "true"},
    ),
    Library(
        "Spark trees",
        "spark.apache.org, pyspark.ml.classification.GBTClassifier",
        {
            "max_depth": 5, "max_bins": 32, "min_instances_per_node": 1, "min_info_gain": 0.0,
            "max_iter": 20, "step_size": 0.1, "subsampling_rate": 1.0,
        },
        {"feature_subset_strategy": "all"},
    ),
    Library(
        "R gbm",
        "cran.r-project.org, gbm",
        {
            "n_trees": 100, "interaction_depth": 1, "n_minobsinnode": 10, "shrinkage": 0.1,
            "bag_fraction": 0.5,
        },
    ),
    Library(
        "UMAP",
        "umap-learn.readthedocs.io, UMAP",
        {
            "n_neighbors": 15, "min_dist": 0.1, "spread": 1.0, "learning_rate": 1.0,
            "set_op_mix_ratio": 1.0, "local_connectivity": 1.0, "repulsion_strength": 1.0,
            "negative_sample_rate": 5, "n_components": 2,
        },
        {"metric": "euclidean", "init": "spectral"},
    ),
    Library(
        "fastText classification",
        "fasttext.cc, options of the supervised model",
        {
            "lr": 0.1, "dim": 100, "ws": 5, "word_ngrams": 1, "min_count": 1, "minn": 0,
            "maxn": 0, "bucket": 2_000_000, "t": 1e-4, "lr_update_rate": 100,
        },
        {"loss": "softmax"},
    ),
    Library(
        "GloVe",
        "github.com/stanfordnlp/GloVe, demo.sh",
        {"vector_size": 50, "window_size": 15, "x_max": 10, "vocab_min_count": 5, "max_iter": 15},
    ),
    Library(
        "node2vec",
        "github.com/aditya-grover/node2vec, src/main.py",
        {
            "dimensions": 128, "walk_length": 80, "num_walks": 10, "window_size": 10, "p": 1.0,
            "q": 1.0,
        },
    ),
    Library(
        "PyTorch SGD",
        "pytorch.org, torch.optim.SGD",
        {"lr": 1e-3, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0},
        {"nesterov": "false"},
    ),
    Library(
        "PyTorch RMSprop",
        "pytorch.org, torch.optim.RMSprop",
        {"lr": 0.01, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0},
        {"centered": "false"},
    ),
    Library(
        "Lion",
        "github.com/lucidrains/lion-pytorch, lion_pytorch/lion_pytorch.py",
        {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0},
    ),
    Library(
        "minGPT",
        "github.com/karpathy/minGPT, mingpt/trainer.py",
        {
            "learning_rate": 3e-4, "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.1,
            "grad_norm_clip": 1.0, "batch_size": 64,
        },
    ),
    Library(
        "spaCy",
        "github.com/explosion/spaCy, spacy/default_config.cfg",
        {
            "learn_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "l2": 0.01, "eps": 1e-8,
            "grad_clip": 1.0, "dropout": 0.1, "warmup_steps": 250, "accumulate_gradient": 1,
            "patience": 1600,
        },
        {"l2_is_weight_decay": "true", "use_averages": "false"},
    ),
    Library(
        "TRL DPO",
        "huggingface.co, TRL, DPOConfig",
        {"beta": 0.1},
        {"loss_type": "sigmoid"},
    ),
    Library(
        "TabNet",
        "github.com/dreamquark-ai/tabnet, pytorch_tabnet/abstract_model.py",
        {
            "n_d": 8, "n_a": 8, "n_steps": 3, "gamma": 1.3, "n_independent": 2, "n_shared": 2,
            "momentum": 0.02, "lambda_sparse": 1e-3, "clip_value": 1, "lr": 0.02,
            "cat_emb_dim": 1,
        },
        {"mask_type": "sparsemax"},
    ),
    Library(
        "DeepCTR",
        "deepctr-torch.readthedocs.io, DeepFM, DCN and xDeepFM",
        {
            "l2_reg_linear": 1e-5, "l2_reg_embedding": 1e-5, "l2_reg_dnn": 0.0,
            "init_std": 1e-4, "dnn_dropout": 0.0,
        },
        {"dnn_activation": "relu", "dnn_use_bn": "false"},
    ),
    Library(
        "GluonTS DeepAR",
        "ts.gluon.ai, torch DeepAREstimator",
        {"num_layers": 2, "hidden_size": 40, "lr": 1e-3, "weight_decay": 1e-8},
    ),
    Library(
        "scvi-tools",
        "docs.scvi-tools.org, SCVI",
        {"n_hidden": 128, "n_latent": 10, "n_layers": 1, "dropout_rate": 0.1},
    ),
    Library(
        "detectron2",
        "github.com/facebookresearch/detectron2, detectron2/config/defaults.py",
        {
            "base_lr": 1e-3, "momentum": 0.9, "weight_decay": 1e-4, "gamma": 0.1,
            "warmup_factor": 1e-3, "warmup_iters": 1000, "ims_per_batch": 16,
        },
        {"nesterov": "false", "warmup_method": "linear"},
    ),
    Library(
        "nnU-Net",
        "github.com/MIC-DKFZ/nnUNet, nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py",
        {"initial_lr": 0.01, "weight_decay": 3e-5, "oversample_foreground_percent": 0.33},
    ),
    Library(
        "Pytorch-UNet",
        "github.com/milesial/Pytorch-UNet, train.py",
        {
            "learning_rate": 1e-5, "weight_decay": 1e-8, "momentum": 0.999,
            "gradient_clipping": 1.0, "batch_size": 1, "img_scale": 0.5,
        },
    ),
    Library(
        "MoCo",
        "github.com/facebookresearch/moco, main_moco.py",
        {"moco_dim": 128, "moco_k": 65_536, "moco_m": 0.999, "moco_t": 0.07},
    ),
    Library(
        "MAE",
        "github.com/facebookresearch/mae, main_finetune.py",
        {"blr": 1e-3, "weight_decay": 0.05, "layer_decay": 0.75, "min_lr": 1e-6},
    ),
    Library(
        "RLlib PPO",
        "docs.ray.io, RLlib, PPOConfig",
        {
            "lr": 5e-5, "train_batch_size": 4000, "num_epochs": 30, "num_sgd_iter": 30,
            "minibatch_size": 128, "sgd_minibatch_size": 128, "lambda": 1.0, "kl_coeff": 0.2,
            "kl_target": 0.01, "vf_loss_coeff": 1.0, "entropy_coeff": 0.0, "clip_param": 0.3,
            "vf_clip_param": 10.0,
        },
    ),
    Library(
        "ML-Agents PPO",
        "github.com/Unity-Technologies/ml-agents, Training Configuration File",
        {
            "batch_size": 1024, "buffer_size": 10_240, "learning_rate": 3e-4, "beta": 5e-3,
            "epsilon": 0.2, "lambd": 0.95, "num_epoch": 3,
        },
        {"learning_rate_schedule": "linear"},
    ),
    Library(
        "RecBole",
        "github.com/RUCAIBox/RecBole, recbole/properties/overall.yaml",
        {
            "learning_rate": 1e-3, "train_batch_size": 2048, "weight_decay": 0.0,
            "stopping_step": 10,
        },
        {"learner": "adam"},
    ),
    Library(
        "MMDetection",
        "github.com/open-mmlab/mmdetection, configs/_base_/schedules/schedule_1x.py",
        {"lr": 0.02, "momentum": 0.9, "weight_decay": 1e-4, "gamma": 0.1, "start_factor": 1e-3},
    ),
    Library(
        "fastai",
        "docs.fast.ai, Learner",
        {"lr": 1e-3, "moms": 0.95},
        {"wd_bn_bias": "false", "train_bn": "true"},
    ),
    Library(
        "HDBSCAN",
        "scikit-learn.org, HDBSCAN",
        {
            "min_cluster_size": 5, "cluster_selection_epsilon": 0.0, "alpha": 1.0,
            "leaf_size": 40,
        },
        {"metric": "euclidean", "cluster_selection_method": "eom"},
    ),
)  # fmt: skip
"""The libraries whose defaults are known."""
