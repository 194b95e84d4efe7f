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

/* --- tar by hand, for what libarchive does not write --------------------- */

#define TAR_BLOCK 512
/* Of a header's size: octal digits and a NUL, or binary. */
#define SIZE_BYTES 12

/* Bytes as they are, compressed. */
static struct archive *
begin_raw(const char *path)
{
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();

	ck_assert_int_eq(archive_write_add_filter_gzip(a), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_set_format_raw(a), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_filename(a, path), ARCHIVE_OK);
	archive_entry_set_filetype(e, AE_IFREG);
	ck_assert_int_eq(archive_write_header(a, e), ARCHIVE_OK);
	archive_entry_free(e);
	return a;
}

static void
put(struct archive *a, const void *bytes, size_t n)
{
	ck_assert_int_eq(archive_write_data(a, bytes, n), (la_ssize_t)n);
}

/* Adds a second gzip member, which it removes, to the archive. */
static void
append_member(const char *path)
{
	char bytes[4096];
	FILE *from = fopen(path, "re"), *to = fopen(archive_path, "ae");
	size_t n = fread(bytes, 1, sizeof bytes, from);

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(fwrite(bytes, 1, n, to), n);
	(void)fclose(from);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_int_eq(unlink(path), 0);
}

/* One header; size is what it says, whatever follows. */
static void
put_header(struct archive *f, const char *name, char type, const char *size)
{
	unsigned char b[TAR_BLOCK] = "";
	unsigned sum = 8 * ' ';

	(void)snprintf((char *)b, 100, "%s", name);
	memcpy(b + 100, "0000644", 7);
	memcpy(b + 124, size, SIZE_BYTES);
	memcpy(b + 136, "00000000000", 11);
	b[156] = (unsigned char)type;
	memcpy(b + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof b; i++)
		sum += b[i];
	(void)snprintf((char *)b + 148, 8, "%06o", sum);
	put(f, b, sizeof b);
}

/* Data, filled up to whole blocks. */
static void
put_data(struct archive *f, const char *data, size_t n)
{
	static const char zeros[TAR_BLOCK];
	size_t over = n % TAR_BLOCK;

	put(f, data, n);
	if (over)
		put(f, zeros, TAR_BLOCK - over);
}

static void
put_end(struct archive *f)
{
	for (int i = 0; i < 2; i++)
		put_data(f, "\0", 1);
	end_archive(f);
}

/* Unpacks what was written; the reason or "" for success. */
static const char *
try_raw(void)
{
	static struct reason why;

	why.text[0] = '\0';
	ck_assert_int_eq(
	    unpack_archive(archive_path, target, &why), why.text[0] ? -1 : 0);
	return why.text;
}

static void
start_over(void)
{
	tear_down();
	set_up();
}

/* A pax header that overrules the size in the entry's own. */
START_TEST(a_size_that_two_headers_dispute_is_bounded)
{
	static const char *const records[] = {
		"23 size=999999999999999\n",
		"20 size=-99999999999\n",
		"16 size=1000000\n",
	};

	for (size_t i = 0; i < SUITE_N(records); i++) {
		struct archive *f = begin_raw(archive_path);
		char size[24];

		(void)snprintf(
		    size, sizeof size, "%011zo", strlen(records[i]));
		put_header(f, "PaxHeader/f", 'x', size);
		put_data(f, records[i], strlen(records[i]));
		put_header(f, "f", '0', "00000000004");
		put_data(f, "data", 4);
		put_end(f);
		ck_assert_str_ne(try_raw(), "");
		start_over();
	}
}
END_TEST

START_TEST(odd_sizes_are_refused)
{
	static const char *const sizes[] = {
		"77777777777", /* 8 GiB */
		"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"00001000000", /* and nothing follows */
	};

	for (size_t i = 0; i < SUITE_N(sizes); i++) {
		struct archive *f = begin_raw(archive_path);

		put_header(f, "f", '0', sizes[i]);
		put_data(f, "data", 4);
		put_end(f);
		ck_assert_str_ne(try_raw(), "");
		start_over();
	}
}
END_TEST

/* A file of 520 MiB with one byte at its end takes 1 KB in an archive. */
START_TEST(holes_count_as_bytes)
{
	struct archive *a = begin_archive();
	struct archive_entry *e = archive_entry_new();
	struct reason why = { "" };

	archive_entry_set_pathname(e, "sparse");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_size(e, INT64_C(520) << 20);
	archive_entry_sparse_add_entry(e, (INT64_C(520) << 20) - 1, 1);
	ck_assert_int_eq(archive_write_header(a, e), ARCHIVE_OK);
	archive_entry_free(e);
	write_zeros(a, INT64_C(520) << 20);
	end_archive(a);
	ck_assert_int_eq(unpack_archive(archive_path, target, &why), -1);
	ck_assert_str_eq(
	    why.text, "the archive unpacks to more than 536870912 bytes");
}
END_TEST

START_TEST(long_and_odd_names_are_refused)
{
	char name[4000];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	{
		const struct item items[] = { { name, AE_IFREG, 0644, NULL,
		    0 } };

		ck_assert_str_eq(try_items(items, 1),
		    "the archive has a name of 3999 bytes");
	}
	start_over();
	{
		const struct item items[] = { { "a\nb", AE_IFREG, 0644, NULL,
		    0 } };

		ck_assert_str_eq(try_items(items, 1),
		    "the archive has a control character in a name");
	}
	start_over();
	{
		struct archive *f = begin_raw(archive_path);

		put_header(f, "", '0', "00000000004");
		put_data(f, "data", 4);
		put_end(f);
		ck_assert_str_eq(try_raw(),
		    "the archive has an entry without a readable name");
	}
}
END_TEST

/* A GNU long name may hold a NUL: what is before it is the name. */
START_TEST(a_name_with_a_nul_ends_there)
{
	struct archive *f = begin_raw(archive_path);

	put_header(f, "././@LongLink", 'L', "00000000007");
	put_data(f, "ab\0../x", 7);
	put_header(f, "other", '0', "00000000004");
	put_data(f, "data", 4);
	put_end(f);
	ck_assert_str_eq(try_raw(), "");
	ck_assert(exists("in/ab"));
	ck_assert(!exists("x"));
}
END_TEST

START_TEST(slashes_and_dots_stay_inside)
{
	const struct item items[] = {
		{ "./", AE_IFDIR, 0755, NULL, 0 },
		{ "./perfspect/", AE_IFDIR, 0755, NULL, 0 },
		{ "perfspect//perfspect", AE_IFREG, 0755, NULL, 0 },
		{ "perfspect/./LICENSE", AE_IFREG, 0644, NULL, 0 },
	};

	ck_assert_str_eq(try_items(items, SUITE_N(items)), "");
	ck_assert(exists("in/perfspect/perfspect"));
	ck_assert(exists("in/perfspect/LICENSE"));
}
END_TEST

START_TEST(what_is_there_is_not_overwritten)
{
	static const struct item pairs[][2] = {
		{ { "f", AE_IFREG, 0644, NULL, 0 },
		    { "f", AE_IFREG, 0755, NULL, 0 } },
		{ { "f", AE_IFREG, 0644, NULL, 0 },
		    { "./f", AE_IFREG, 0644, NULL, 0 } },
		{ { "d", AE_IFDIR, 0755, NULL, 0 },
		    { "d", AE_IFREG, 0644, NULL, 0 } },
		{ { "d", AE_IFREG, 0644, NULL, 0 },
		    { "d", AE_IFDIR, 0755, NULL, 0 } },
		{ { "f", AE_IFREG, 0644, NULL, 0 },
		    { "f/g", AE_IFREG, 0644, NULL, 0 } },
	};
	static const char *const reasons[] = {
		"the archive has a name twice: f",
		"the archive has a name twice: ./f",
		"the archive has a name twice: d",
		"the archive has a name twice: d/",
		"the archive has a name twice: f/g",
	};

	for (size_t i = 0; i < SUITE_N(pairs); i++) {
		ck_assert_str_eq(try_items(pairs[i], 2), reasons[i]);
		start_over();
	}
}
END_TEST

/* As `cat a.tgz b.tgz` makes it: what counts is the first tar's end. */
START_TEST(members_and_garbage_after_the_end_are_not_read)
{
	struct archive *f = begin_raw(archive_path);
	char *second = mem_fmt("%s/second", directory);
	FILE *more;

	put_header(f, "f", '0', "00000000004");
	put_data(f, "data", 4);
	put_end(f);
	f = begin_raw(second);
	put_header(f, "../x", '0', "00000000004");
	put_data(f, "data", 4);
	put_end(f);
	append_member(second);
	more = fopen(archive_path, "ae");
	ck_assert_int_ge(fputs("garbage", more), 0);
	(void)fclose(more);
	ck_assert_str_eq(try_raw(), "");
	ck_assert(exists("in/f"));
	ck_assert(!exists("x"));
	free(second);
}
END_TEST

/* The same in two members is one archive, as gzip has it. */
START_TEST(one_tar_in_two_members_is_unpacked)
{
	struct archive *f = begin_raw(archive_path);
	char *second = mem_fmt("%s/second", directory);

	put_header(f, "f", '0', "00000000004");
	end_archive(f);
	f = begin_raw(second);
	put_data(f, "data", 4);
	put_end(f);
	append_member(second);
	ck_assert_str_eq(try_raw(), "");
	ck_assert(exists("in/f"));
	free(second);
}
END_TEST

START_TEST(what_is_no_tar_in_gzip_is_refused)
{
	static const char text[] = "#!/bin/sh\necho hello\n";
	struct archive *f = begin_raw(archive_path);

	put(f, text, sizeof text - 1);
	end_archive(f);
	ck_assert_ptr_nonnull(strstr(try_raw(), "damaged"));
	f = begin_raw(archive_path);
	end_archive(f);
	ck_assert_str_ne(try_raw(), "");
}
END_TEST

START_TEST(gzip_in_gzip_is_refused)
{
	const struct item items[] = { { "f", AE_IFREG, 0644, NULL, 0 } };
	struct archive *a = archive_write_new();

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(archive_write_add_filter_gzip(a), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_set_format_ustar(a), ARCHIVE_OK);
	ck_assert_int_eq(
	    archive_write_open_filename(a, archive_path), ARCHIVE_OK);
	add_item(a, &items[0]);
	end_archive(a);
	ck_assert_str_eq(
	    try_raw(), "the archive is compressed more than once");
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
		a_size_that_two_headers_dispute_is_bounded,
		odd_sizes_are_refused, holes_count_as_bytes,
		long_and_odd_names_are_refused, a_name_with_a_nul_ends_there,
		slashes_and_dots_stay_inside, what_is_there_is_not_overwritten,
		members_and_garbage_after_the_end_are_not_read,
		one_tar_in_two_members_is_unpacked,
		what_is_no_tar_in_gzip_is_refused, gzip_in_gzip_is_refused,
		the_working_directory_comes_back };

	return suite_run_with(
	    "unpack", tests, SUITE_N(tests), set_up, tear_down);
}
