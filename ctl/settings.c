/* conspectctl settings, get and set */
#include "ctl.h"

#include "store/settings.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 24

/* A number, or that there is none. */
static const char *
number(int64_t value, char text[NUMBER_BYTES])
{
	if (value == FIELD_NULL)
		return "none";
	(void)snprintf(text, NUMBER_BYTES, "%lld", (long long)value);
	return text;
}

static int
print_setting(struct store *store, enum setting setting)
{
	const struct setting_info *info = &settings[setting];
	char in_force[NUMBER_BYTES], fallback[NUMBER_BYTES];
	int64_t value;

	if (setting_get(store, setting, &value) != 0)
		return CTL_FAILED;
	(void)printf("%-18s %10s %-9s %s (default %s, %lld to %lld)\n",
	    info->key, number(value, in_force), info->unit, info->meaning,
	    number(info->fallback, fallback), (long long)info->min,
	    (long long)info->max);
	return CTL_OK;
}

int
ctl_settings(struct store *store, const struct ctl_args *args)
{
	(void)args;
	for (int i = 0; i < N_SETTINGS; i++)
		if (print_setting(store, (enum setting)i) != CTL_OK)
			return CTL_FAILED;
	return CTL_OK;
}

/* The setting of that name, or -1 after saying that there is none. */
static int
find(const char *key)
{
	int setting = setting_of(key);

	if (setting < 0)
		(void)ctl_fail("there is no setting %s: conspectctl settings "
			       "lists them",
		    key);
	return setting;
}

int
ctl_get(struct store *store, const struct ctl_args *args)
{
	int setting = find(args->name);
	char text[NUMBER_BYTES];
	int64_t value;

	if (setting < 0)
		return CTL_FAILED;
	if (setting_get(store, (enum setting)setting, &value) != 0)
		return CTL_FAILED;
	(void)puts(number(value, text));
	return CTL_OK;
}

static int
refuse_value(const struct setting_info *info, const char *text)
{
	return ctl_fail("%s takes a whole number from %lld to %lld (%s), not "
			"\"%s\"",
	    info->key, (long long)info->min, (long long)info->max, info->unit,
	    text);
}

int
ctl_set(struct store *store, const struct ctl_args *args)
{
	int found = find(args->name), result;
	const struct setting_info *info;
	enum setting setting;
	struct reason why;
	int64_t value = 0;

	if (found < 0)
		return CTL_FAILED;
	setting = (enum setting)found;
	info = &settings[setting];
	if (strcmp(args->value, "default") == 0) {
		value = info->fallback;
		result = setting_unset(store, setting);
	} else if (field_integer_text(args->value, &value) &&
		   value >= info->min && value <= info->max) {
		result = setting_set(store, setting, value);
	} else {
		return refuse_value(info, args->value);
	}
	if (result == STORE_CONFLICT &&
	    setting_check(store, setting, value, &why) == STORE_CONFLICT)
		return ctl_fail("%s", why.text);
	return result == 0 ? print_setting(store, setting) : CTL_FAILED;
}
