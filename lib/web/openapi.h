/*
 * The description of the API, lib/web/openapi.json as a file of C
 * (lib/web/embed): t/api/openapi.t keeps it true.
 */
#ifndef CONSPECT_WEB_OPENAPI_H
#define CONSPECT_WEB_OPENAPI_H

#include <stddef.h>

extern const unsigned char openapi_json[]; /* no NUL at the end */
extern const size_t openapi_json_size;

#endif
