"""Defaults that libraries document for their hyper-parameters: facts, with the page they are on.

A hyper-parameter whose page gives no value (it depends on the data, or none is set) is left out.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """One class or program whose hyper-parameters have documented defaults.

    Attributes:
        name: What people call it.
        source: The page of its documentation.
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
            "num_parallel_tree": 1, "scale_pos_weight": 1.0,
        },
        {"tree_method": "auto", "grow_policy": "depthwise", "booster": "gbtree"},
    ),
    Library(
        "LightGBM",
        "lightgbm.readthedocs.io, Parameters",
        {
            "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20,
            "min_child_samples": 20, "min_sum_hessian_in_leaf": 1e-3, "min_child_weight": 1e-3,
            "bagging_fraction": 1.0, "subsample": 1.0, "bagging_freq": 0,
            "feature_fraction": 1.0, "colsample_bytree": 1.0, "lambda_l1": 0.0,
            "reg_alpha": 0.0, "lambda_l2": 0.0, "reg_lambda": 0.0, "min_gain_to_split": 0.0,
            "max_bin": 255, "path_smooth": 0.0, "drop_rate": 0.1, "cat_smooth": 10.0,
        },
        {"boosting": "gbdt", "boosting_type": "gbdt"},
    ),
    Library(
        "CatBoost",
        "catboost.ai, Training parameters, Common parameters",
        {
            "learning_rate": 0.03, "depth": 6, "max_depth": 6, "l2_leaf_reg": 3.0,
            "random_strength": 1.0, "bagging_temperature": 1.0, "rsm": 1.0,
            "colsample_bylevel": 1.0, "border_count": 254, "min_data_in_leaf": 1,
            "max_leaves": 31,
        },
        {"grow_policy": "symmetric_tree"},
    ),
    Library(
        "scikit-learn HistGradientBoosting",
        "scikit-learn.org, HistGradientBoostingClassifier",
        {
            "learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20,
            "l2_regularization": 0.0, "max_features": 1.0, "max_bins": 255,
        },
    ),
    Library(
        "scikit-learn GradientBoosting",
        "scikit-learn.org, GradientBoostingClassifier",
        {
            "learning_rate": 0.1, "subsample": 1.0, "max_depth": 3, "min_samples_split": 2,
            "min_samples_leaf": 1, "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
    ),
    Library(
        "scikit-learn RandomForest",
        "scikit-learn.org, RandomForestClassifier",
        {
            "n_estimators": 100, "min_samples_split": 2, "min_samples_leaf": 1,
            "min_impurity_decrease": 0.0, "ccp_alpha": 0.0,
        },
        {"criterion": "gini", "max_features": "sqrt", "bootstrap": "true"},
    ),
    Library(
        "scikit-learn SGD",
        "scikit-learn.org, SGDClassifier and SGDRegressor",
        {"alpha": 1e-4, "l1_ratio": 0.15, "eta0": 0.01, "power_t": 0.5, "epsilon": 0.1},
        {"penalty": "l2", "learning_rate": "optimal", "average": "false", "loss": "hinge"},
    ),
    Library(
        "scikit-learn MLP",
        "scikit-learn.org, MLPClassifier and MLPRegressor",
        {
            "hidden_layer_sizes": 100, "alpha": 1e-4, "batch_size": 200,
            "learning_rate_init": 1e-3, "power_t": 0.5, "momentum": 0.9, "beta_1": 0.9,
            "beta_2": 0.999, "epsilon": 1e-8,
        },
        {
            "activation": "relu", "solver": "adam", "learning_rate": "constant",
            "nesterovs_momentum": "true",
        },
    ),
    Library(
        "scikit-learn SVM",
        "scikit-learn.org, SVC",
        {"c": 1.0, "coef0": 0.0, "degree": 3, "tol": 1e-3, "epsilon": 0.1},
        {"kernel": "rbf", "gamma": "scale"},
    ),
    Library(
        "scikit-learn LogisticRegression",
        "scikit-learn.org, LogisticRegression",
        {"c": 1.0, "tol": 1e-4, "max_iter": 100},
        {"penalty": "l2", "solver": "lbfgs"},
    ),
    Library(
        "PyTorch Adam",
        "pytorch.org, torch.optim.Adam and AdamW, torch.nn.Dropout and CrossEntropyLoss",
        {
            "lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01,
            "dropout": 0.5, "label_smoothing": 0.0,
        },
        {"amsgrad": "false"},
    ),
    Library(
        "torchvision",
        "github.com/pytorch/vision, reference training script of classification",
        {
            "lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "batch_size": 32,
            "label_smoothing": 0.0, "lr_step_size": 30, "lr_gamma": 0.1, "lr_warmup_epochs": 0,
        },
        {"opt": "sgd", "lr_scheduler": "steplr"},
    ),
    Library(
        "Keras",
        "keras.io, Optimizers (Adam, RMSprop), Model.compile, Model.fit and regularizers",
        {
            "learning_rate": 1e-3, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7,
            "rho": 0.9, "batch_size": 32, "kernel_regularizer": 0.01, "l1": 0.01, "l2": 0.01,
        },
        {"optimizer": "rmsprop", "amsgrad": "false"},
    ),
    Library(
        "Hugging Face",
        "huggingface.co, TrainingArguments",
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
        "stable-baselines3.readthedocs.io, SAC and TD3",
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
        "surprise.readthedocs.io, Matrix factorization algorithms",
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
        "Lightning",
        "lightning.ai, Trainer; pytorch-forecasting, TemporalFusionTransformer",
        {
            "learning_rate": 1e-3, "accumulate_grad_batches": 1,
            "hidden_size": 16, "dropout": 0.1, "attention_head_size": 4, "weight_decay": 0.0,
        },
    ),
    Library(
        "diffusers",
        "huggingface.co, diffusers, unconditional training script",
        {
            "learning_rate": 1e-4, "adam_beta1": 0.95, "adam_beta2": 0.999,
            "adam_weight_decay": 1e-6, "adam_epsilon": 1e-8, "max_grad_norm": 1.0,
            "ema_inv_gamma": 1.0, "ema_power": 0.75, "ema_max_decay": 0.9999,
            "ema_decay": 0.9999, "lr_warmup_steps": 500, "train_batch_size": 16,
        },
        {"lr_scheduler": "cosine"},
    ),
)  # fmt: skip
"""The libraries whose defaults are known."""
