/* Emblems, properties and a context menu for the entries of ChatFS mounts, for Thunar (a thunarx plugin).
 *
 * Thunar's plugins have no interface for emblems. It shows those in "metadata::emblems" of a file's GFileInfo, so this
 * plugin sets them there, in memory only, without writing the user's metadata. It finds the shown files in Thunar's
 * models, and changes by the signal "changed", which follows the mount's events. A thread of each mount reads
 * attributes, so that one that does not answer delays no other; the main loop never waits. */

#include <thunarx/thunarx.h>

#include "chatfs-entry.h"

#define PROGRAM "chatfs-file-action"
#define EMBLEMS "metadata::emblems"
/* Bytes of a problem that are shown. */
#define SHOWN 4000

/* The data attached to a file. Main thread. */
typedef struct {
    ChatfsEntry entry;
    /* Or NULL. */
    const char *emblem;
    /* Those of its mount; NULL without one. */
    GThreadPool *readers;
    /* Number of the last reading. */
    guint64 reading;
    bool is_read, is_reading, reads_again, is_telling;
} Known;

/* A file whose attributes are read. */
typedef struct {
    ThunarxFileInfo *file;
    char *path;
    guint64 number;
    ChatfsEntry entry;
} Reading;

/* By mount. Never freed: that would wait for a mount that does not answer. */
static GHashTable *readers;
static GQuark known_quark, column_quark;

static char *path_of(ThunarxFileInfo *file) {
    GFile *location = thunarx_file_info_get_location(file);
    char *path = location ? g_file_get_path(location) : NULL;
    g_clear_object(&location);
    return path;
}

/* Emblems. */

static void free_known(gpointer data) {
    Known *known = data;
    chatfs_entry_clear(&known->entry);
    g_free(known);
}

/* Our emblems and the user's. */
static void put_emblem(ThunarxFileInfo *file, const char *old, const char *new) {
    GFileInfo *info = thunarx_file_info_get_file_info(file);
    if (!info) return;
    GPtrArray *names = g_ptr_array_new();
    char **present = g_file_info_get_attribute_stringv(info, EMBLEMS);
    for (; present && *present; present++)
        if (g_strcmp0(*present, old) && g_strcmp0(*present, new)) g_ptr_array_add(names, (gpointer)g_intern_string(*present));
    if (new) g_ptr_array_add(names, (gpointer)new);
    if (names->len > 0) {
        g_ptr_array_add(names, NULL);
        g_file_info_set_attribute_stringv(info, EMBLEMS, (char **)names->pdata);
    } else {
        g_file_info_remove_attribute(info, EMBLEMS);
    }
    g_ptr_array_free(names, TRUE);
    g_object_unref(info);
}

static void begin_reading(ThunarxFileInfo *file, Known *known);

/* Takes the entry over. */
static void show(ThunarxFileInfo *file, Known *known, ChatfsEntry entry) {
    chatfs_entry_clear(&known->entry);
    known->entry = entry;
    known->is_read = true;
    known->is_reading = false;
    const char *emblem = chatfs_entry_emblem(&known->entry);
    if (emblem != known->emblem) {
        put_emblem(file, known->emblem, emblem);
        known->emblem = emblem;
        known->is_telling = true;
        thunarx_file_info_changed(file);
        known->is_telling = false;
    }
}

static gboolean has_read(gpointer data) {
    Reading *reading = data;
    ThunarxFileInfo *file = reading->file;
    Known *known = g_object_get_qdata(G_OBJECT(file), known_quark);
    if (reading->number == known->reading) {
        show(file, known, reading->entry);
        if (known->reads_again) begin_reading(file, known);
    } else {
        /* From an earlier mount at the same place. */
        chatfs_entry_clear(&reading->entry);
    }
    g_object_unref(file);
    g_free(reading->path);
    g_free(reading);
    return G_SOURCE_REMOVE;
}

static void read_entry(gpointer data, gpointer unused) {
    (void)unused;
    Reading *reading = data;
    chatfs_entry_read(&reading->entry, reading->path);
    g_idle_add(has_read, reading);
}

static GThreadPool *readers_of(const char *mount) {
    GThreadPool *pool = g_hash_table_lookup(readers, mount);
    if (!pool) {
        pool = g_thread_pool_new(read_entry, NULL, 1, FALSE, NULL);
        g_hash_table_insert(readers, g_strdup(mount), pool);
    }
    return pool;
}

/* Waits for a running reading of the same mount, but not for one of an earlier mount, which may never end. */
static void begin_reading(ThunarxFileInfo *file, Known *known) {
    char *path = path_of(file);
    const char *mount = path ? chatfs_mount(path) : NULL;
    GThreadPool *pool = mount ? readers_of(mount) : NULL;
    known->reads_again = known->is_reading && known->readers == pool;
    if (known->reads_again) {
        g_free(path);
        return;
    }
    /* No marks and no menu of an earlier mount. */
    if (known->readers != pool) show(file, known, (ChatfsEntry){0});
    known->readers = pool;
    known->reading++;
    if (!pool) {
        g_free(path);
        return;
    }
    Reading *reading = g_new0(Reading, 1);
    reading->file = g_object_ref(file);
    reading->path = path;
    reading->number = known->reading;
    known->is_reading = true;
    g_thread_pool_push(pool, reading, NULL);
}

static void has_changed(ThunarxFileInfo *file, gpointer data) {
    Known *known = data;
    if (known->is_telling) return;
    /* Its information was read again, without our emblems. */
    if (known->emblem) put_emblem(file, NULL, known->emblem);
    begin_reading(file, known);
}

static void watch(ThunarxFileInfo *file) {
    if (g_object_get_qdata(G_OBJECT(file), known_quark)) return;
    char *path = path_of(file);
    if (path && chatfs_mount(path)) {
        Known *known = g_new0(Known, 1);
        g_object_set_qdata_full(G_OBJECT(file), known_quark, known, free_known);
        g_signal_connect(file, "changed", G_CALLBACK(has_changed), known);
        begin_reading(file, known);
    }
    g_free(path);
}

/* The column of a model with files, counted from one; zero without one. */
static int column_of_files(GtkTreeModel *model) {
    gpointer seen = g_object_get_qdata(G_OBJECT(model), column_quark);
    if (seen) return GPOINTER_TO_INT(seen) - 1;
    int column = 0;
    for (int index = gtk_tree_model_get_n_columns(model); index > 0 && !column; index--)
        if (g_type_is_a(gtk_tree_model_get_column_type(model, index - 1), THUNARX_TYPE_FILE_INFO)) column = index;
    g_object_set_qdata(G_OBJECT(model), column_quark, GINT_TO_POINTER(column + 1));
    return column;
}

static gboolean row_was_inserted(GSignalInvocationHint *hint, guint count, const GValue *values, gpointer unused) {
    (void)hint, (void)unused;
    GtkTreeModel *model = g_value_get_object(&values[0]);
    GtkTreeIter *row = count > 2 ? g_value_get_boxed(&values[2]) : NULL;
    int column = row ? column_of_files(model) : 0;
    if (column) {
        GObject *file = NULL;
        gtk_tree_model_get(model, row, column - 1, &file, -1);
        if (THUNARX_IS_FILE_INFO(file)) watch(THUNARX_FILE_INFO(file));
        g_clear_object(&file);
    }
    return TRUE;
}

/* The menu. */

/* Closes after the answer. */
static GtkWidget *message(GtkWindow *window, GtkMessageType type, GtkButtonsType buttons, const char *text) {
    GtkWidget *dialog = gtk_message_dialog_new(window, GTK_DIALOG_DESTROY_WITH_PARENT, type, buttons, "ChatFS");
    gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", text);
    g_signal_connect_after(dialog, "response", G_CALLBACK(gtk_widget_destroy), NULL);
    gtk_widget_show(dialog);
    return dialog;
}

/* A button under an action's message: another action for the same paths. */
typedef struct {
    char *action;
    GBytes *paths;
} Offer;

static void run(const char *name, GBytes *paths);

static void free_offer(gpointer data, GClosure *closure) {
    (void)closure;
    Offer *offer = data;
    g_bytes_unref(offer->paths);
    g_free(offer->action);
    g_free(offer);
}

static void was_taken(GtkDialog *dialog, int answer, gpointer data) {
    (void)dialog;
    Offer *offer = data;
    if (answer == GTK_RESPONSE_APPLY) run(offer->action, offer->paths);
}

static void tell(const char *problem) {
    message(NULL, GTK_MESSAGE_ERROR, GTK_BUTTONS_CLOSE, problem);
}

/* The output of a process as valid text, without its last newline. Allocated on the heap. */
static char *text_of(GBytes *bytes) {
    gsize length = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &length) : NULL;
    char *text = length ? g_utf8_make_valid(data, (gssize)MIN(length, SHOWN)) : g_strdup("");
    return g_strchomp(text);
}

/* The first line of a message may be "button", an action and a label, separated by tabs. */
static void show_outcome(char *said, const char *problem, GBytes *paths) {
    char *rest = said;
    char **button = NULL;
    if (g_str_has_prefix(said, "button\t")) {
        char *line = g_strndup(said, strcspn(said, "\n"));
        rest += strlen(line) + (said[strlen(line)] == '\n');
        button = g_strsplit(line, "\t", 3);
        g_free(line);
    }
    const char *text = problem ? problem : rest;
    if (*text) {
        GtkWidget *dialog = message(NULL, problem ? GTK_MESSAGE_ERROR : GTK_MESSAGE_INFO, GTK_BUTTONS_CLOSE, text);
        if (button && g_strv_length(button) == 3) {
            gtk_dialog_add_button(GTK_DIALOG(dialog), button[2], GTK_RESPONSE_APPLY);
            Offer *offer = g_new0(Offer, 1);
            offer->action = g_strdup(button[1]);
            offer->paths = g_bytes_ref(paths);
            g_signal_connect_data(dialog, "response", G_CALLBACK(was_taken), offer, free_offer, 0);
        }
    }
    g_strfreev(button);
}

static void has_run(GObject *source, GAsyncResult *result, gpointer data) {
    GBytes *paths = data, *said = NULL, *problems = NULL;
    GSubprocess *process = G_SUBPROCESS(source);
    GError *error = NULL;
    if (g_subprocess_communicate_finish(process, result, &said, &problems, &error)) {
        char *text = text_of(said), *problem = text_of(problems);
        bool is_done = g_subprocess_get_successful(process);
        show_outcome(text, is_done ? NULL : *problem ? problem : "It did not work.", paths);
        g_free(text);
        g_free(problem);
    } else {
        tell(error->message);
        g_error_free(error);
    }
    g_clear_pointer(&said, g_bytes_unref);
    g_clear_pointer(&problems, g_bytes_unref);
    g_bytes_unref(paths);
}

/* An item of an open menu: its action and the entries. */
typedef struct {
    const ChatfsAction *action;
    GPtrArray *files;
    GtkWindow *window;
} Choice;

static void free_choice(gpointer data, GClosure *closure) {
    (void)closure;
    Choice *choice = data;
    g_ptr_array_unref(choice->files);
    if (choice->window) g_object_remove_weak_pointer(G_OBJECT(choice->window), (gpointer *)&choice->window);
    g_free(choice);
}

/* With NUL after each path. */
static GBytes *paths_of(GPtrArray *files) {
    GByteArray *paths = g_byte_array_new();
    for (guint index = 0; index < files->len; index++) {
        char *path = path_of(files->pdata[index]);
        if (path) g_byte_array_append(paths, (const guint8 *)path, strlen(path) + 1);
        g_free(path);
    }
    return g_byte_array_free_to_bytes(paths);
}

static void run(const char *name, GBytes *paths) {
    GError *error = NULL;
    GSubprocess *process = g_subprocess_new(
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error,
        PROGRAM, name, NULL);
    if (process) {
        g_subprocess_communicate_async(process, paths, NULL, has_run, g_bytes_ref(paths));
        g_object_unref(process);
    } else {
        tell(error->message);
        g_error_free(error);
    }
}

/* NULL if a selected file is no entry, or unknown yet. */
static const ChatfsEntry *entry_of(gpointer file) {
    Known *known = g_object_get_qdata(file, known_quark);
    return known && known->is_read && *known->entry.state ? &known->entry : NULL;
}

/* A pending question. */
typedef struct {
    const char *action;
    GBytes *paths;
} Question;

static void free_question(gpointer data, GClosure *closure) {
    (void)closure;
    Question *question = data;
    g_bytes_unref(question->paths);
    g_free(question);
}

static void was_answered(GtkDialog *dialog, int answer, gpointer data) {
    (void)dialog;
    Question *question = data;
    if (answer == GTK_RESPONSE_OK) run(question->action, question->paths);
}

static void ask(GtkWindow *window, const ChatfsAction *action, GBytes *paths, GPtrArray *files) {
    GPtrArray *entries = g_ptr_array_new();
    for (guint index = 0; index < files->len; index++) {
        const ChatfsEntry *entry = entry_of(files->pdata[index]);
        if (entry) g_ptr_array_add(entries, (gpointer)entry);
    }
    char *text = chatfs_question(action, (const ChatfsEntry *const *)entries->pdata, entries->len);
    g_ptr_array_unref(entries);
    GtkWidget *dialog = message(window, GTK_MESSAGE_QUESTION, GTK_BUTTONS_OK_CANCEL, text ? text : action->question);
    free(text);
    Question *question = g_new0(Question, 1);
    question->action = action->name;
    question->paths = g_bytes_ref(paths);
    g_signal_connect_data(dialog, "response", G_CALLBACK(was_answered), question, free_question, 0);
}

/* A text in progress and its chats. */
typedef struct {
    GtkTextBuffer *text;
    GBytes *paths;
} Letter;

static void free_letter(gpointer data, GClosure *closure) {
    (void)closure;
    Letter *letter = data;
    g_object_unref(letter->text);
    g_bytes_unref(letter->paths);
    g_free(letter);
}

static void was_written(GtkDialog *dialog, int answer, gpointer data) {
    (void)dialog;
    Letter *letter = data;
    if (answer != GTK_RESPONSE_OK) return;
    GtkTextIter start, end;
    gtk_text_buffer_get_bounds(letter->text, &start, &end);
    char *text = gtk_text_buffer_get_text(letter->text, &start, &end, FALSE);
    /* The paths end with NUL; another NUL precedes the text. */
    GByteArray *bytes = g_byte_array_new();
    gsize length = 0;
    const guint8 *paths = g_bytes_get_data(letter->paths, &length);
    g_byte_array_append(bytes, paths, (guint)length);
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text));
    GBytes *input = g_byte_array_free_to_bytes(bytes);
    if (*g_strstrip(text)) run("send-text", input);
    g_bytes_unref(input);
    g_free(text);
}

static void ask_text(GtkWindow *window, GBytes *paths, GPtrArray *files) {
    GString *words = g_string_new("Send a text to");
    for (guint index = 0; index < files->len; index++) {
        char *name = thunarx_file_info_get_name(files->pdata[index]);
        g_string_append_printf(words, "%s %s", index ? "," : "", name);
        g_free(name);
    }
    GtkWidget *dialog = message(window, GTK_MESSAGE_OTHER, GTK_BUTTONS_OK_CANCEL, words->str);
    g_string_free(words, TRUE);
    GtkWidget *view = gtk_text_view_new(), *area = gtk_scrolled_window_new(NULL, NULL);
    gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(view), GTK_WRAP_WORD_CHAR);
    /* Tab goes on to the buttons. */
    gtk_text_view_set_accepts_tab(GTK_TEXT_VIEW(view), FALSE);
    gtk_widget_set_size_request(area, 320, 120);
    gtk_container_add(GTK_CONTAINER(area), view);
    gtk_container_add(GTK_CONTAINER(gtk_message_dialog_get_message_area(GTK_MESSAGE_DIALOG(dialog))), area);
    gtk_widget_show_all(area);
    gtk_widget_grab_focus(view);
    Letter *letter = g_new0(Letter, 1);
    letter->text = g_object_ref(gtk_text_view_get_buffer(GTK_TEXT_VIEW(view)));
    letter->paths = g_bytes_ref(paths);
    g_signal_connect_data(dialog, "response", G_CALLBACK(was_written), letter, free_letter, 0);
}

static void copy_links(GPtrArray *files) {
    GString *links = g_string_new(NULL);
    for (guint index = 0; index < files->len; index++) {
        Known *known = g_object_get_qdata(files->pdata[index], known_quark);
        if (known && known->entry.link)
            g_string_append_printf(links, "%s%s", links->len ? "\n" : "", known->entry.link);
    }
    gtk_clipboard_set_text(gtk_clipboard_get(GDK_SELECTION_CLIPBOARD), links->str, (int)links->len);
    g_string_free(links, TRUE);
}

static void was_chosen(ThunarxMenuItem *item, gpointer data) {
    (void)item;
    Choice *choice = data;
    GBytes *paths = paths_of(choice->files);
    if (!strcmp(choice->action->name, "copy-link"))
        copy_links(choice->files);
    else if (!strcmp(choice->action->name, "send-text"))
        ask_text(choice->window, paths, choice->files);
    else if (*choice->action->question)
        ask(choice->window, choice->action, paths, choice->files);
    else
        run(choice->action->name, paths);
    g_bytes_unref(paths);
}

static GList *file_menu_items(ThunarxMenuProvider *provider, GtkWidget *window, GList *files) {
    (void)provider;
    for (GList *file = files; file; file = file->next)
        if (!entry_of(file->data)) return NULL;
    GList *items = NULL;
    const ChatfsAction *action;
    for (size_t index = 0; (action = chatfs_action(index)); index++) {
        GPtrArray *chosen = g_ptr_array_new_with_free_func(g_object_unref);
        for (GList *file = files; file; file = file->next)
            if (chatfs_entry_allows(entry_of(file->data), action)) g_ptr_array_add(chosen, g_object_ref(file->data));
        if (chosen->len == 0) {
            g_ptr_array_unref(chosen);
            continue;
        }
        Choice *choice = g_new0(Choice, 1);
        choice->action = action;
        choice->files = chosen;
        if (GTK_IS_WINDOW(window)) {
            choice->window = GTK_WINDOW(window);
            g_object_add_weak_pointer(G_OBJECT(window), (gpointer *)&choice->window);
        }
        char *name = g_strconcat("ChatFS::", action->name, NULL);
        ThunarxMenuItem *item = thunarx_menu_item_new(name, action->label, NULL, action->icon);
        g_free(name);
        g_signal_connect_data(item, "activate", G_CALLBACK(was_chosen), choice, free_choice, 0);
        items = g_list_append(items, item);
    }
    return items;
}

/* The properties of one entry. */

/* A label and its text, in the grid. */
static void add_row(GtkGrid *grid, int row, const char *name, const char *value) {
    GtkWidget *label = gtk_label_new(NULL), *text = gtk_label_new(value);
    char *bold = g_markup_printf_escaped("<b>%s</b>", name);
    gtk_label_set_markup(GTK_LABEL(label), bold);
    g_free(bold);
    gtk_label_set_xalign(GTK_LABEL(label), 1);
    gtk_label_set_yalign(GTK_LABEL(label), 0);
    gtk_label_set_xalign(GTK_LABEL(text), 0);
    gtk_label_set_line_wrap(GTK_LABEL(text), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(text), 50);
    gtk_label_set_selectable(GTK_LABEL(text), TRUE);
    gtk_grid_attach(grid, label, 0, row, 1, 1);
    gtk_grid_attach(grid, text, 1, row, 1, 1);
}

/* Lines of a label and its text with a tab between; a line that begins with a tab continues the text. */
static void has_described(GObject *source, GAsyncResult *result, gpointer data) {
    GtkGrid *grid = data;
    GBytes *said = NULL;
    GError *error = NULL;
    if (g_subprocess_communicate_finish(G_SUBPROCESS(source), result, &said, NULL, &error)) {
        char *text = text_of(said);
        char **lines = g_strsplit(text, "\n", -1);
        int row = 0;
        for (char **line = lines; *line; line++) {
            const char *name = *line;
            char *value = strchr(*line, '\t');
            if (!value || value == name) continue;
            *value++ = 0;
            GString *whole = g_string_new(value);
            for (; line[1] && line[1][0] == '\t'; line++) g_string_append_printf(whole, "\n%s", line[1] + 1);
            add_row(grid, row++, name, whole->str);
            g_string_free(whole, TRUE);
        }
        gtk_widget_show_all(GTK_WIDGET(grid));
        g_strfreev(lines);
        g_free(text);
    } else {
        add_row(grid, 0, "", error->message);
        gtk_widget_show_all(GTK_WIDGET(grid));
        g_error_free(error);
    }
    g_clear_pointer(&said, g_bytes_unref);
    g_object_unref(grid);
}

static GList *property_pages(ThunarxPropertyPageProvider *provider, GList *files) {
    (void)provider;
    if (!files || files->next) return NULL;
    const ChatfsEntry *entry = entry_of(files->data);
    if (!entry || !strcmp(entry->state, CHATFS_CHAT_STATE)) return NULL;
    GSubprocess *process = g_subprocess_new(
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE, NULL,
        PROGRAM, "describe", NULL);
    if (!process) return NULL;
    GtkWidget *page = thunarx_property_page_new("Chat"), *grid = gtk_grid_new();
    gtk_container_set_border_width(GTK_CONTAINER(grid), 12);
    gtk_grid_set_column_spacing(GTK_GRID(grid), 12);
    gtk_grid_set_row_spacing(GTK_GRID(grid), 6);
    gtk_container_add(GTK_CONTAINER(page), grid);
    gtk_widget_show_all(page);
    GPtrArray *chosen = g_ptr_array_new();
    g_ptr_array_add(chosen, files->data);
    GBytes *paths = paths_of(chosen);
    g_subprocess_communicate_async(process, paths, NULL, has_described, g_object_ref(grid));
    g_bytes_unref(paths);
    g_ptr_array_unref(chosen);
    g_object_unref(process);
    return g_list_append(NULL, page);
}

/* The plugin. */

typedef struct {
    GObject parent;
} ChatfsProvider;
typedef struct {
    GObjectClass parent;
} ChatfsProviderClass;

static void init_menus(ThunarxMenuProviderIface *interface) {
    interface->get_file_menu_items = file_menu_items;
}

static void init_pages(ThunarxPropertyPageProviderIface *interface) {
    interface->get_pages = property_pages;
}

static GType chatfs_provider_get_type(void);
THUNARX_DEFINE_TYPE_WITH_CODE(ChatfsProvider, chatfs_provider, G_TYPE_OBJECT,
                              THUNARX_IMPLEMENT_INTERFACE(THUNARX_TYPE_MENU_PROVIDER, init_menus)
                              THUNARX_IMPLEMENT_INTERFACE(THUNARX_TYPE_PROPERTY_PAGE_PROVIDER, init_pages))

static void chatfs_provider_class_init(ChatfsProviderClass *class) {
    (void)class;
}

static void chatfs_provider_init(ChatfsProvider *provider) {
    (void)provider;
}

G_MODULE_EXPORT void thunar_extension_initialize(ThunarxProviderPlugin *plugin);
G_MODULE_EXPORT void thunar_extension_shutdown(void);
G_MODULE_EXPORT void thunar_extension_list_types(const GType **types, gint *count);

void thunar_extension_initialize(ThunarxProviderPlugin *plugin) {
    /* Thunar uses its code until it ends: hooks, a thread, data of files. */
    thunarx_provider_plugin_set_resident(plugin, TRUE);
    chatfs_provider_register_type(plugin);
    known_quark = g_quark_from_static_string("chatfs-known");
    column_quark = g_quark_from_static_string("chatfs-column");
    readers = g_hash_table_new(g_str_hash, g_str_equal);
    g_type_default_interface_unref(g_type_default_interface_ref(GTK_TYPE_TREE_MODEL));
    g_signal_add_emission_hook(g_signal_lookup("row-inserted", GTK_TYPE_TREE_MODEL), 0, row_was_inserted, NULL, NULL);
}

void thunar_extension_shutdown(void) {
}

void thunar_extension_list_types(const GType **types, gint *count) {
    static GType type;
    type = chatfs_provider_get_type();
    *types = &type;
    *count = 1;
}
