import Base
import Cryptography
import Glibc
import Posix

/// `libsimplex.so` in this process (the C interface of SimpleX Chat). Loaded once and never unloaded, because
/// the Haskell runtime cannot be started twice. A forked process that continues would lack its threads; fork
/// and exec are fine.
///
/// All functions block and are thread-safe. Never call them on the cooperative pool.
final class SimplexLibrary: Sendable {
    /// An open database with its chat core, as an opaque pointer.
    struct Controller: @unchecked Sendable {
        // Safe: the library locks the object and allows calls from several threads.
        fileprivate let pointer: UnsafeMutableRawPointer
    }

    private typealias Text = UnsafePointer<CChar>
    private typealias OwnedText = UnsafeMutablePointer<CChar>
    private typealias ControllerOut = UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private typealias Start =
        @convention(c) (
            UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutablePointer<OwnedText?>>
        ) -> Void
    private typealias Migrate = @convention(c) (Text, Text, Text, ControllerOut) -> OwnedText?
    private typealias Send = @convention(c) (UnsafeMutableRawPointer, Text) -> OwnedText?
    private typealias Receive = @convention(c) (UnsafeMutableRawPointer, Int32) -> OwnedText?
    private typealias Close = @convention(c) (UnsafeMutableRawPointer) -> OwnedText?

    let path: String
    private let migrate: Migrate
    private let send: Send
    private let receive: Receive
    private let closeStore: Close

    private static let loaded = Lock<SimplexLibrary?>(nil)

    /// Loads the library and starts its runtime at the first call.
    static func load(_ path: String) throws(OfficialCoreError) -> SimplexLibrary {
        try loaded.withLock { loaded throws(OfficialCoreError) in
            if let loaded {
                guard loaded.path.hasSameBytes(as: path) else {
                    throw OfficialCoreError(
                        .notInstalled,
                        "Another SimpleX library is already loaded; a process can load only one.")
                }
                return loaded
            }
            let library = try SimplexLibrary(path)
            loaded = library
            return library
        }
    }

    private init(_ path: String) throws(OfficialCoreError) {
        // RTLD_GLOBAL, because the Haskell libraries use each other's symbols. RTLD_DEEPBIND, because their
        // SQLCipher has the symbols of this program's SQLite with other object layouts.
        guard let library = SharedLibrary(path, flags: RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND) else {
            throw OfficialCoreError(
                .notInstalled, "The SimpleX library could not be loaded: \(Self.reason()).")
        }
        self.path = path
        let start: Start
        do throws(SharedLibrary.MissingFunction) {
            // The types are from the library's header; the names are stable since version 5.
            start = try library.function("hs_init_with_rtsopts")
            migrate = try library.function("chat_migrate_init")
            send = try library.function("chat_send_cmd")
            receive = try library.function("chat_recv_msg_wait")
            closeStore = try library.function("chat_close_store")
        } catch {
            throw OfficialCoreError(
                .notInstalled,
                "This is not a SimpleX library, or its version is not supported: it lacks \(error.name).")
        }
        Self.startRuntime(start)
    }

    /// Keeps this program's signal handlers and uses the non-moving collector. The arguments are never freed,
    /// because the runtime keeps pointers to them.
    private static func startRuntime(_ start: Start) {
        let words = ["chatfs", "+RTS", "-A16m", "-xn", "--install-signal-handlers=no", "-RTS"]
        let arguments = UnsafeMutablePointer<OwnedText?>.allocate(capacity: words.count + 1)
        for (index, word) in words.enumerated() { arguments[index] = strdup(word) }
        arguments[words.count] = nil
        var count = Int32(words.count)
        var pointer = arguments
        start(&count, &pointer)
    }

    private static func reason() -> String {
        dlerror().map { String(cString: $0) } ?? "unknown reason"
    }

    // MARK: Calls

    /// Opens the databases `<prefix>_chat.db` and `<prefix>_agent.db`, migrates them and creates their core.
    /// The library may keep its own copy of the passphrase.
    /// - Parameter passphrase: Without NUL; nil if not encrypted.
    func open(prefix: String, passphrase: SecretBytes?) throws(OfficialCoreError) -> Controller {
        let (answer, controller) = open(prefix, passphrase, changes: "yesUp")
        if let error = MigrationResult.error(in: answer) { throw error }
        guard let controller else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX library opened no database.")
        }
        return controller
    }

    /// Returns true if the passphrase opens the databases. Does not migrate them.
    func opens(prefix: String, passphrase: SecretBytes?) throws(OfficialCoreError) -> Bool {
        let (answer, controller) = open(prefix, passphrase, changes: "error")
        if let controller { close(controller) }
        return try MigrationResult.hasOpened(answer)
    }

    private func open(_ prefix: String, _ passphrase: SecretBytes?, changes: String) -> ([UInt8], Controller?)
    {
        var pointer: UnsafeMutableRawPointer?
        func open(_ key: UnsafePointer<CChar>) -> [UInt8] {
            Self.take(migrate(prefix, key, changes, &pointer))
        }
        let answer = passphrase.map { $0.withCString(open) } ?? open("")
        return (answer, pointer.map(Controller.init))
    }

    func command(_ text: String, _ controller: Controller) -> [UInt8] {
        Self.take(send(controller.pointer, text))
    }

    /// For commands with a secret.
    func command(_ text: SecretBytes, _ controller: Controller) -> [UInt8] {
        text.withCString { Self.take(send(controller.pointer, $0)) }
    }

    /// Returns the next event, or an empty array after `microseconds`.
    func nextEvent(_ controller: Controller, microseconds: Int32) -> [UInt8] {
        Self.take(receive(controller.pointer, microseconds))
    }

    /// Closes the databases. The controller is then invalid.
    func close(_ controller: Controller) { _ = Self.take(closeStore(controller.pointer)) }

    /// Copies a result and frees it.
    private static func take(_ text: OwnedText?) -> [UInt8] {
        guard let text else { return [] }
        defer { free(text) }
        return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
