// The terminal of `patchbay top`: sets the alternate screen and keys without echo, and restores the terminal.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tools/top.h"

struct terminal {
    bool has_keys; // standard input is a terminal, too
    struct termios before;
};

// Sets the alternate screen, without cursor and wrapping; and restores the screen.
static const char screen_take[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char screen_give[] = "\033[?7h\033[?25h\033[?1049l";

static bool write_all(const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

struct terminal *terminal_open(void) {
    struct terminal *terminal = calloc(1, sizeof *terminal);
    if (terminal == NULL) {
        return NULL;
    }
    terminal->has_keys = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &terminal->before) == 0;
    if (terminal->has_keys) {
        struct termios raw = terminal->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0; // read doesn't wait
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VSUSP] = _POSIX_VDISABLE; // no suspending: a shell would find the alternate screen
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    write_all(screen_take, sizeof screen_take - 1);
    return terminal;
}

void terminal_close(struct terminal *terminal) {
    if (terminal == NULL) {
        return;
    }
    write_all(screen_give, sizeof screen_give - 1);
    if (terminal->has_keys) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
    }
    free(terminal);
}

// Writes each line over the earlier one, and erases only the rest of the line, so that the screen doesn't flicker.
bool terminal_show(struct terminal *terminal, const struct text *lines) {
    struct text out = {0};
    (void)terminal;
    text_put(&out, "\033[H");
    for (size_t at = 0; at < lines->length;) {
        const char *end = memchr(lines->bytes + at, '\n', lines->length - at);
        size_t bytes = end == NULL ? lines->length - at : (size_t)(end - (lines->bytes + at));
        text_put(&out, at > 0 ? "\r\n" : "");
        text_add(&out, lines->bytes + at, bytes);
        text_put(&out, "\033[K");
        at += bytes + 1;
    }
    text_put(&out, "\033[J");
    bool shown = !out.failed && write_all(out.bytes, out.length);
    text_deinit(&out);
    return shown;
}

void terminal_size(unsigned *width, unsigned *height) {
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *width = known ? size.ws_col : 80;
    *height = known ? size.ws_row : 24;
}
