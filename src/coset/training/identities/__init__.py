"""The identity model: label models, encoders, priors and calibration of both coordinates, and how good they are."""
