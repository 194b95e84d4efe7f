/*
 * Prints the API's table of routes, a line each: path, methods, who, and
 * the largest body in bytes, or - where none is read.  t/api/openapi.t
 * holds the description against it.
 */
#include "web/api.h"

#include <stdio.h>

static const char *const who_names[] = { [WHO_ANYONE] = "anyone",
	[WHO_AGENT] = "agent",
	[WHO_VIEWER] = "viewer",
	[WHO_OPERATOR] = "operator",
	[WHO_ADMIN] = "admin" };

int
main(void)
{
	for (size_t i = 0; i < api_app.n_routes; i++) {
		const struct route *r = &api_app.routes[i];

		(void)printf("%s %s%s%s %s ", r->path,
		    r->methods & METHOD_GET ? "get,head," : "",
		    r->methods & METHOD_POST ? "post," : "",
		    r->methods & METHOD_PUT ? "put," : "", who_names[r->who]);
		if (r->body == BODY_NONE)
			(void)puts("-");
		else
			(void)printf("%zu\n", r->body_max);
	}
	return 0;
}
