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
        guard let library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL) else { return nil }
        // dlsym also finds GLib's functions, because libsecret depends on it.
        func symbol<Function>(_ name: String) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard
            let getService: @convention(c) (Int32, Pointer?, Failure) -> Pointer? =
                symbol("secret_service_get_sync"),
            let search: @convention(c) (Pointer?, Pointer, Pointer, Int32, Pointer?, Failure) -> Pointer? =
                symbol("secret_service_search_sync"),
            let isLocked: @convention(c) (Pointer) -> Int32 = symbol("secret_item_get_locked"),
            let secretOf: @convention(c) (Pointer) -> Pointer? = symbol("secret_item_get_secret"),
            let valueOf: @convention(c) (Pointer, UnsafeMutablePointer<Int>) -> Text? =
                symbol("secret_value_get"),
            let store:
                @convention(c) (Pointer, Pointer, Text, Text, UnsafeRawPointer, Pointer?, Failure) -> Int32 =
                symbol("secret_password_storev_sync"),
            let clear: @convention(c) (Pointer, Pointer, Pointer?, Failure) -> Int32 =
                symbol("secret_password_clearv_sync"),
            let errorDomain: @convention(c) () -> UInt32 = symbol("secret_error_get_quark"),
            let newTable: @convention(c) (Pointer, Pointer) -> Pointer? = symbol("g_hash_table_new"),
            let insert: @convention(c) (Pointer, Pointer, Pointer) -> Int32 = symbol("g_hash_table_insert"),
            let hash = dlsym(library, "g_str_hash"), let equal = dlsym(library, "g_str_equal")
        else { return nil }
        self.getService = getService
        self.search = search
        self.isLocked = isLocked
        self.secretOf = secretOf
        self.valueOf = valueOf
        self.store = store
        self.clear = clear
        self.errorDomain = errorDomain
        self.newTable = newTable
        self.insert = insert
        (self.hash, self.equal) = (hash, equal)
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
