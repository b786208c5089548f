/* Emblems and a context menu for the entries of ChatFS mounts, for Thunar (a thunarx plugin).
 *
 * Thunar's plugins have no interface for emblems. It shows those that "metadata::emblems" of a file's GFileInfo names,
 * so they are put there, in memory only: nothing of it is written to the user's metadata. Which files are shown is
 * seen by what is put into its models, and that something of a file is new by its signal "changed", which the events
 * of the mount bring about. One thread reads attributes; the main loop waits for nothing. */

#include <thunarx/thunarx.h>

#include "chatfs-entry.h"

#define PROGRAM "chatfs-file-action"
#define EMBLEMS "metadata::emblems"
/* Bytes of a problem that are shown. */
#define SHOWN 4000

/* What is known of a file, kept with it. Main thread. */
typedef struct {
    ChatfsEntry entry;
    /* Interned, or NULL. */
    const char *emblem;
    bool is_read, is_reading, reads_again, is_telling;
} Known;

/* A file whose attributes are read. */
typedef struct {
    ThunarxFileInfo *file;
    char *path;
    ChatfsEntry entry;
} Reading;

static GThreadPool *readers;
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

static const char *best(const char *const *icons) {
    for (; icons && *icons; icons++)
        if (gtk_icon_theme_has_icon(gtk_icon_theme_get_default(), *icons)) return g_intern_string(*icons);
    return NULL;
}

/* Ours and those that the user gave it. */
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

static gboolean has_read(gpointer data) {
    Reading *reading = data;
    ThunarxFileInfo *file = reading->file;
    Known *known = g_object_get_qdata(G_OBJECT(file), known_quark);
    chatfs_entry_clear(&known->entry);
    known->entry = reading->entry;
    known->is_read = true;
    known->is_reading = false;
    const char *emblem = best(chatfs_entry_emblems(&known->entry));
    if (emblem != known->emblem) {
        put_emblem(file, known->emblem, emblem);
        known->emblem = emblem;
        known->is_telling = true;
        thunarx_file_info_changed(file);
        known->is_telling = false;
    }
    if (known->reads_again) begin_reading(file, known);
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

static void begin_reading(ThunarxFileInfo *file, Known *known) {
    char *path = known->is_reading ? NULL : path_of(file);
    known->reads_again = known->is_reading;
    if (!path) return;
    Reading *reading = g_new0(Reading, 1);
    reading->file = g_object_ref(file);
    reading->path = path;
    known->is_reading = true;
    g_thread_pool_push(readers, reading, NULL);
}

static void has_changed(ThunarxFileInfo *file, gpointer data) {
    Known *known = data;
    if (known->is_telling) return;
    /* Its information was read anew, without what was put into it. */
    if (known->emblem) put_emblem(file, NULL, known->emblem);
    begin_reading(file, known);
}

static void watch(ThunarxFileInfo *file) {
    if (g_object_get_qdata(G_OBJECT(file), known_quark)) return;
    char *path = path_of(file);
    if (path && chatfs_is_mounted(path)) {
        Known *known = g_new0(Known, 1);
        g_object_set_qdata_full(G_OBJECT(file), known_quark, known, free_known);
        g_signal_connect(file, "changed", G_CALLBACK(has_changed), known);
        begin_reading(file, known);
    }
    g_free(path);
}

/* The column of a model that holds files, counted from one; zero where none does. */
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

/* Goes when it is answered. */
static GtkWidget *message(GtkWindow *window, GtkMessageType type, GtkButtonsType buttons, const char *text) {
    GtkWidget *dialog = gtk_message_dialog_new(window, GTK_DIALOG_DESTROY_WITH_PARENT, type, buttons, "ChatFS");
    gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", text);
    g_signal_connect_after(dialog, "response", G_CALLBACK(gtk_widget_destroy), NULL);
    gtk_widget_show(dialog);
    return dialog;
}

static void tell(const char *problem) {
    message(NULL, GTK_MESSAGE_ERROR, GTK_BUTTONS_CLOSE, problem);
}

static void has_run(GObject *source, GAsyncResult *result, gpointer unused) {
    (void)unused;
    GSubprocess *process = G_SUBPROCESS(source);
    GBytes *problems = NULL;
    GError *error = NULL;
    if (!g_subprocess_communicate_finish(process, result, NULL, &problems, &error)) {
        tell(error->message);
        g_error_free(error);
        return;
    }
    if (!g_subprocess_get_successful(process)) {
        gsize length = 0;
        const char *bytes = problems ? g_bytes_get_data(problems, &length) : NULL;
        char *text = g_utf8_make_valid(length ? bytes : "It did not work.", length ? (gssize)MIN(length, SHOWN) : -1);
        tell(g_strchomp(text));
        g_free(text);
    }
    g_bytes_unref(problems);
}

/* An item of a menu that is shown: what it does, and to what. */
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
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error,
        PROGRAM, name, NULL);
    if (process) {
        g_subprocess_communicate_async(process, paths, NULL, has_run, NULL);
        g_object_unref(process);
    } else {
        tell(error->message);
        g_error_free(error);
    }
}

/* NULL where something of the selection is no entry, or not known yet. */
static const ChatfsEntry *entry_of(gpointer file) {
    Known *known = g_object_get_qdata(file, known_quark);
    return known && known->is_read && *known->entry.state ? &known->entry : NULL;
}

/* A question that waits for its answer. */
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

static GType chatfs_provider_get_type(void);
THUNARX_DEFINE_TYPE_WITH_CODE(ChatfsProvider, chatfs_provider, G_TYPE_OBJECT,
                              THUNARX_IMPLEMENT_INTERFACE(THUNARX_TYPE_MENU_PROVIDER, init_menus))

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
    /* Its code is in use for as long as Thunar runs: hooks, a thread, data of files. */
    thunarx_provider_plugin_set_resident(plugin, TRUE);
    chatfs_provider_register_type(plugin);
    known_quark = g_quark_from_static_string("chatfs-known");
    column_quark = g_quark_from_static_string("chatfs-column");
    readers = g_thread_pool_new(read_entry, NULL, 1, FALSE, NULL);
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
