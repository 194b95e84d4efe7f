/* Archives that attack, built here entry by entry. */
#include "t/agentd/suite.h"

#include "agentd/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* One entry of an archive to build. */
struct item {
	const char *name;
	mode_t type, perm;
	const char *link; /* of AE_IFLNK; with AE_IFREG: a hard link */
	int64_t size;     /* of zeros; 0: the text "data" */
};

static char *directory, *target, *archive_path;

static void
set_up(void)
{
	directory = suite_directory();
	target = mem_fmt("%s/in", directory);
	archive_path = mem_fmt("%s/a.tgz", directory);
	ck_assert_int_eq(mkdir(target, 0700), 0);
}

static void
tear_down(void)
{
	free(target);
	free(archive_path);
	suite_remove(directory);
}

static void
write_zeros(struct archive *a, int64_t n)
{
	static const char zeros[65536];

	while (n > 0) {
		size_t part =
		    n < (int64_t)sizeof zeros ? (size_t)n : sizeof zeros;

		ck_assert_int_eq(
		    archive_write_data(a, zeros, part), (la_ssize_t)part);
		n -= (int64_t)part;
	}
}

static void
add_item(struct archive *a, const struct item *item)
{
	struct archive_entry *e = archive_entry_new();
	bool has_data = item->type == AE_IFREG && !item->link;

	archive_entry_set_pathname(e, item->name);
	archive_entry_set_filetype(e, item->type);
	archive_entry_set_perm(e, item->perm ? item->perm : 0644);
	if (item->type == AE_IFLNK)
		archive_entry_set_symlink(e, item->link);
	else if (item->link)
		archive_entry_set_hardlink(e, item->link);
	if (has_data)
		archive_entry_set_size(e, item->size ? item->size : 4);
	ck_assert_int_eq(archive_write_header(a, e), ARCHIVE_OK);
	if (has_data && item->size)
		write_zeros(a, item->size);
	else if (has_data)
		ck_assert_int_eq(archive_write_data(a, "data", 4), 4);
	archive_entry_free(e);
}

static struct archive *
begin_archive(void)
{
	struct archive *a = archive_write_new();

	ck_assert_int_eq(archive_write_add_filter_gzip(a), ARCHIVE_OK);
	/* half a gigabyte takes long else, above all in an emulator */
	ck_assert_int_eq(archive_write_set_filter_option(
			     a, "gzip", "compression-level", "1"),
	    ARCHIVE_OK);
	ck_assert_int_eq(
	    archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
	ck_assert_int_eq(
	    archive_write_open_filename(a, archive_path), ARCHIVE_OK);
	return a;
}

static void
end_archive(struct archive *a)
{
	ck_assert_int_eq(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
}

/* Builds, unpacks; the reason or "" for success. */
static const char *
try_items(const struct item *items, size_t n)
{
	static struct reason why;
	struct archive *a = begin_archive();

	why.text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		add_item(a, &items[i]);
	end_archive(a);
	ck_assert_int_eq(
	    unpack_archive(archive_path, target, &why), why.text[0] ? -1 : 0);
	return why.text;
}

static bool
exists(const char *name)
{
	char *path = mem_fmt("%s/%s", directory, name);
	struct stat st;
	bool there = lstat(path, &st) == 0;

	free(path);
	return there;
}

START_TEST(an_honest_archive_is_unpacked)
{
	const struct item items[] = {
		{ "perfspect/", AE_IFDIR, 0755, NULL, 0 },
		{ "perfspect/perfspect", AE_IFREG, 0711, NULL, 0 },
		{ "perfspect/LICENSE", AE_IFREG, 0666, NULL, 0 },
		{ "perfspect/tools/x86_64/", AE_IFDIR, 0700, NULL, 0 },
	};
	char *path = mem_fmt("%s/in/perfspect/perfspect", directory);
	char *other = mem_fmt("%s/in/perfspect/LICENSE", directory);
	struct stat st;

	ck_assert_str_eq(try_items(items, SUITE_N(items)), "");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	ck_assert_int_eq(st.st_size, 4);
	ck_assert_int_eq(stat(other, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0644); /* others cannot write */
	ck_assert(exists("in/perfspect/tools/x86_64"));
	free(path);
	free(other);
}
END_TEST

/* Each with one bad entry after a good one. */
START_TEST(attacks_are_refused)
{
	static const struct {
		struct item item;
		const char *why;
	} attacks[] = {
		{ { "../x", AE_IFREG, 0644, NULL, 0 },
		    "the archive has a name that leaves its directory: ../x" },
		{ { "a/../../x", AE_IFREG, 0644, NULL, 0 },
		    "the archive has a name that leaves its directory: "
		    "a/../../x" },
		{ { "a/..", AE_IFDIR, 0755, NULL, 0 },
		    "the archive has a name that leaves its directory: "
		    "a/../" },
		{ { "/tmp/conspect-evil", AE_IFREG, 0644, NULL, 0 },
		    "the archive has an absolute name: /tmp/conspect-evil" },
		{ { "link", AE_IFLNK, 0777, "/etc", 0 },
		    "the archive has a link: link" },
		{ { "hard", AE_IFREG, 0644, "/etc/passwd", 0 },
		    "the archive has a link: hard" },
		{ { "hard", AE_IFREG, 0644, "good", 0 },
		    "the archive has a link: hard" },
		{ { "null", AE_IFCHR, 0666, NULL, 0 },
		    "the archive has an entry that is neither file nor "
		    "directory: null" },
		{ { "disk", AE_IFBLK, 0666, NULL, 0 },
		    "the archive has an entry that is neither file nor "
		    "directory: disk" },
		{ { "pipe", AE_IFIFO, 0666, NULL, 0 },
		    "the archive has an entry that is neither file nor "
		    "directory: pipe" },
		{ { "su", AE_IFREG, 04755, NULL, 0 },
		    "the archive has a set-id file: su" },
		{ { "sg", AE_IFREG, 02755, NULL, 0 },
		    "the archive has a set-id file: sg" },
	};

	for (size_t i = 0; i < SUITE_N(attacks); i++) {
		struct item items[2] = { { "good", AE_IFREG, 0644, NULL, 0 },
			attacks[i].item };

		ck_assert_str_eq(try_items(items, 2), attacks[i].why);
		ck_assert(!exists("x"));
		ck_assert_int_ne(access("/tmp/conspect-evil", F_OK), 0);
		tear_down();
		set_up();
	}
}
END_TEST

START_TEST(a_file_through_a_link_goes_nowhere)
{
	const struct item items[] = {
		{ "out", AE_IFLNK, 0777, "..", 0 },
		{ "out/planted", AE_IFREG, 0644, NULL, 0 },
	};

	ck_assert_str_eq(try_items(items, 2), "the archive has a link: out");
	ck_assert(!exists("planted"));
}
END_TEST

START_TEST(too_many_entries_are_refused)
{
	struct archive *a = begin_archive();
	struct reason why = { "" };
	char name[32];

	for (int i = 0; i < 10000; i++) {
		struct item item = { name, AE_IFREG, 0644, NULL, 0 };

		(void)snprintf(name, sizeof name, "f%d", i);
		add_item(a, &item);
	}
	end_archive(a);
	ck_assert_int_eq(unpack_archive(archive_path, target, &why), -1);
	ck_assert_str_eq(why.text, "the archive has more than 1000 entries");
}
END_TEST

START_TEST(one_zero_too_many_is_refused)
{
	const struct item items[] = {
		{ "zeros", AE_IFREG, 0644, NULL, UNPACK_BYTES_MAX + 1 },
	};

	ck_assert_str_eq(try_items(items, 1),
	    "the archive unpacks to more than 536870912 bytes");
	ck_assert(!exists("in/zeros"));
}
END_TEST

START_TEST(a_cut_archive_is_refused)
{
	const struct item items[] = { { "half", AE_IFREG, 0644, NULL,
	    1000000 } };
	struct reason why = { "" };
	struct stat st;

	ck_assert_str_eq(try_items(items, 1), "");
	tear_down();
	set_up();
	{
		struct archive *a = begin_archive();
		add_item(a, &items[0]);
		end_archive(a);
	}
	ck_assert_int_eq(stat(archive_path, &st), 0);
	ck_assert_int_eq(truncate(archive_path, st.st_size / 2), 0);
	ck_assert_int_eq(unpack_archive(archive_path, target, &why), -1);
	ck_assert_ptr_nonnull(strstr(why.text, "damaged"));
}
END_TEST

START_TEST(no_archive_is_refused)
{
	struct reason why = { "" };

	suite_write(archive_path, "\x1f\x8bgarbage", 9, 0600);
	ck_assert_int_eq(unpack_archive(archive_path, target, &why), -1);
	suite_write(archive_path, "", 0, 0600);
	ck_assert_int_eq(unpack_archive(archive_path, target, &why), -1);
	ck_assert_int_eq(unpack_archive("/nonexistent", target, &why), -1);
}
END_TEST

START_TEST(the_working_directory_comes_back)
{
	const struct item items[] = { { "f", AE_IFREG, 0644, NULL, 0 } };
	char *before = getcwd(NULL, 0), *after;

	ck_assert_str_eq(try_items(items, 1), "");
	after = getcwd(NULL, 0);
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = { an_honest_archive_is_unpacked,
		attacks_are_refused, a_file_through_a_link_goes_nowhere,
		too_many_entries_are_refused, one_zero_too_many_is_refused,
		a_cut_archive_is_refused, no_archive_is_refused,
		the_working_directory_comes_back };

	return suite_run_with(
	    "unpack", tests, SUITE_N(tests), set_up, tear_down);
}
