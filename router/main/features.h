// All features of the program, by number, for hub_settings.features.
#pragma once

struct feature;

extern const struct feature *const features_all[];
