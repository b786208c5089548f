import Base
import Glibc

/// The used part of libsecret-1 (the Secret Service of the desktop), loaded at run time by the helper process only;
/// ChatFS works without it. Omits its variadic functions, which Swift cannot call. Its interface is stable since 0.16.
/// For one thread.
struct SecretLibrary {
    private typealias Pointer = UnsafeMutableRawPointer
    private typealias Text = UnsafePointer<CChar>
    /// GError **.
    private typealias Failure = UnsafeMutablePointer<UnsafeMutableRawPointer?>

    enum Problem: Error {
        case absent, locked, refused
    }

    private let getService: @convention(c) (Int32, Pointer?, Failure) -> Pointer?
    private let search: @convention(c) (Pointer?, Pointer, Pointer, Int32, Pointer?, Failure) -> Pointer?
    private let isLocked: @convention(c) (Pointer) -> Int32
    private let secretOf: @convention(c) (Pointer) -> Pointer?
    private let valueOf: @convention(c) (Pointer, UnsafeMutablePointer<Int>) -> Text?
    private let store:
        @convention(c) (Pointer, Pointer, Text, Text, UnsafeRawPointer, Pointer?, Failure) -> Int32
    private let clear: @convention(c) (Pointer, Pointer, Pointer?, Failure) -> Int32
    private let errorDomain: @convention(c) () -> UInt32
    private let newTable: @convention(c) (Pointer, Pointer) -> Pointer?
    private let insert: @convention(c) (Pointer, Pointer, Pointer) -> Int32
    private let (hash, equal): (Pointer, Pointer)
    private let schema: Pointer

    /// Returns nil if it is not installed.
    init?() {
        guard let library = SharedLibrary("libsecret-1.so.0") else { return nil }
        // Some functions are of GLib, because libsecret depends on it.
        do {
            getService = try library.function("secret_service_get_sync")
            search = try library.function("secret_service_search_sync")
            isLocked = try library.function("secret_item_get_locked")
            secretOf = try library.function("secret_item_get_secret")
            valueOf = try library.function("secret_value_get")
            store = try library.function("secret_password_storev_sync")
            clear = try library.function("secret_password_clearv_sync")
            errorDomain = try library.function("secret_error_get_quark")
            newTable = try library.function("g_hash_table_new")
            insert = try library.function("g_hash_table_insert")
            hash = try library.address("g_str_hash")
            equal = try library.address("g_str_equal")
        } catch {
            return nil
        }
        schema = Self.makeSchema()
    }

    /// SecretSchema: a name, flags, up to 32 attributes (a name and a type, 0 for text), and reserved space. Lives as
    /// long as the process.
    private static func makeSchema() -> Pointer {
        let schema = Pointer.allocate(byteCount: 1024, alignment: 16)
        memset(schema, 0, 1024)
        schema.storeBytes(of: strdup("org.chatfs.DataKey"), toByteOffset: 0, as: Pointer?.self)
        schema.storeBytes(of: strdup(attribute), toByteOffset: 16, as: Pointer?.self)
        return schema
    }

    private static let attribute = "directory"
    private static let loadsSecrets: Int32 = 1 << 3
    private static let unlocks: Int32 = 1 << 2
    /// SECRET_ERROR_IS_LOCKED.
    private static let lockedCode: Int32 = 2

    /// - Parameter unlocking: Whether the desktop may prompt its user.
    /// - Returns: The result of `use` for the secret, or nil if there is none of this name.
    func find<Result>(
        _ name: String, unlocking: Bool, use: (UnsafeRawBufferPointer) -> Result
    ) throws(Problem) -> Result? {
        var failure: Pointer?
        guard let service = getService(0, nil, &failure) else { throw .absent }
        let flags = Self.loadsSecrets | (unlocking ? Self.unlocks : 0)
        let list = search(service, schema, attributes(name), flags, nil, &failure)
        if failure != nil { throw problem(failure) }
        // A GList begins with its data.
        guard let item = list?.load(as: Pointer?.self) else { return nil }
        guard isLocked(item) == 0 else { throw .locked }
        var length = 0
        guard let secret = secretOf(item), let bytes = valueOf(secret, &length) else { throw .refused }
        return use(UnsafeRawBufferPointer(start: bytes, count: length))
    }

    /// - Parameter text: Ends with NUL.
    func keep(_ text: UnsafeRawPointer, _ name: String, label: String) throws(Problem) {
        var failure: Pointer?
        let done = store(schema, attributes(name), "default", label, text, nil, &failure)
        guard done != 0, failure == nil else { throw problem(failure) }
    }

    /// Does nothing if there is none of this name.
    func forget(_ name: String) throws(Problem) {
        var failure: Pointer?
        _ = clear(schema, attributes(name), nil, &failure)
        if failure != nil { throw problem(failure) }
    }

    /// A GHashTable of texts that are never freed: the process creates one or two of them.
    private func attributes(_ name: String) -> Pointer {
        guard let table = newTable(hash, equal), let key = strdup(Self.attribute), let value = strdup(name)
        else { preconditionFailure("out of memory") }
        _ = insert(table, key, value)
        return table
    }

    /// A GError is a domain, a code and a message.
    private func problem(_ failure: Pointer?) -> Problem {
        guard let failure, failure.load(as: UInt32.self) == errorDomain() else { return .absent }
        return failure.load(fromByteOffset: 4, as: Int32.self) == Self.lockedCode ? .locked : .refused
    }
}
