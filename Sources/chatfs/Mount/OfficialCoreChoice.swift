import Base
import CommandLineKit
import Cryptography
import EmbeddedCore
import Glibc
import OfficialCore
import Posix

/// The official core of `--core` and the paths of its data.
struct OfficialCoreChoice: Sendable {
    let address: OfficialCoreAddress
    /// Path prefix of the databases of a started core.
    let databasePrefix: String
    /// The given files folder of the core.
    let filesFolder: String?
    /// Passphrase of an encrypted database until it is opened; nil if none was given.
    let passphrase: Passphrase?
    /// Network place and limits for a phone.
    var phone = PhoneOptions()

    var isPhone: Bool { if case .phone = address { true } else { false } }

    /// Reads those of `CommonOptions.official` that the command takes. Returns nil without `--core`.
    init?(_ invocation: Invocation) throws {
        try self.init(
            core: invocation[CommonOptions.core], database: invocation.ifTaken(CommonOptions.database),
            filesFolder: invocation.ifTaken(CommonOptions.filesFolder),
            passphraseDescriptor: invocation.ifTaken(CommonOptions.databasePassphrase))
    }

    /// Returns nil without a core.
    init?(
        core: String?, database: String? = nil, filesFolder: String? = nil,
        passphraseDescriptor: String? = nil
    ) throws {
        guard let core else {
            guard database == nil, filesFolder == nil, passphraseDescriptor == nil else {
                throw UsageError("--database, --files-folder and --database-passphrase-fd go with --core")
            }
            return nil
        }
        do throws(OfficialCoreError) {
            address = try OfficialCoreAddress(core)
        } catch {
            throw UsageError(error.sentence)
        }
        // A library would create a missing database, and migrate one of an older version or another program.
        if case .library = address, database == nil {
            throw UsageError(
                "--core lib: needs --database: the SimpleX database without _chat.db, created if it is missing "
                    + "(simplex-chat uses \(DatabaseFiles.defaultPrefix()))")
        }
        if case .phone = address, database != nil || filesFolder != nil || passphraseDescriptor != nil {
            throw UsageError(
                "--database, --files-folder and --database-passphrase-fd are for a core on this machine, not for a phone"
            )
        }
        databasePrefix = AbsolutePath.of(database ?? DatabaseFiles.defaultPrefix())
        self.filesFolder = filesFolder.map(AbsolutePath.of)
        passphrase = try passphraseDescriptor.map { try Self.readPassphrase(from: $0) }
    }

    /// Returns the databases of a started core.
    /// - Throws: `UsageError` for a running program, which has them open.
    func database() throws -> DatabaseFiles {
        if case .phone = address {
            throw UsageError("the database of a phone is on the phone: use its app to make an archive")
        }
        if case .webSocket = address {
            throw UsageError(
                "a running program has its database open: end it, and open the database with --core lib: or "
                    + "--core simplex-chat")
        }
        return try DatabaseFiles(prefix: databasePrefix)
    }

    func checkFilesFolder() throws(UsageError) {
        if case .webSocket = address, filesFolder == nil {
            throw UsageError("a running core needs --files-folder, its folder of files")
        }
    }

    /// Reads the descriptor to its end, without the final newline.
    private static func readPassphrase(from text: String) throws -> Passphrase {
        guard let number = Int32(text), number >= 0 else {
            throw UsageError("--database-passphrase-fd takes the number of an open file descriptor")
        }
        let file = OpenFile(adopting: number)
        defer { withExtendedLifetime(file) {} }
        return Passphrase(try Passphrase.read(from: file.descriptor, line: false))
    }

    /// Returns the directory of ChatFS's data about this core; the same for the same core.
    func folder(dataPath: String) -> String {
        if case .phone(let name) = address { return PhoneFolders(dataPath: dataPath).folder(meant: name) }
        let identity =
            switch address {
            case .phone(let name): "phone \(name ?? "")"
            case .webSocket(let endpoint): "attached \(endpoint)"
            case .library, .program: "database \(databasePrefix)"
            }
        let mark = Hexadecimal.encode(Array(SHA256.hash(Array(identity.utf8)).prefix(8)))
        return "\(dataPath)/official-\(mark)"
    }

    /// Creates the directories of a started core. Blocks.
    func settings(dataPath: String) throws -> OfficialCoreSettings {
        if case .phone(let name) = address { try PhoneFolders(dataPath: dataPath).check(name) }
        let own = folder(dataPath: dataPath)
        _ = try PrivateFolder(own, purpose: OfficialCoreSettings.purpose)
        let files = filesFolder ?? defaultFilesFolder(own)
        let ownership: OfficialCoreSettings.Ownership =
            switch address {
            case .library: .library
            case .program: .program
            case .webSocket, .phone: .attached
            }
        // On the filesystem of the files, so that complete files can be moved.
        let incoming = files + "/.incoming"
        if ownership != .attached || isPhone {
            for folder in [files, incoming] where mkdir(folder, 0o700) != 0 && errno != EEXIST {
                throw SystemError(code: errno, operation: "make a folder for the core's files")
            }
        }
        return OfficialCoreSettings(
            ownership: ownership, filesFolder: files, temporaryFolder: incoming, folder: own)
    }

    /// Returns the desktop app's directory beside the database (`simplex_v1_files`), else our own. A phone has
    /// no database here.
    private func defaultFilesFolder(_ own: String) -> String {
        guard !isPhone else { return own + "/files" }
        let desktop = databasePrefix + "_files"
        return access(desktop, W_OK) == 0 ? desktop : own + "/files"
    }

    /// Starts or reaches the core. The process must not fork afterwards.
    /// - Parameter startsChats: True if a started program starts its chats.
    func transport(
        _ settings: OfficialCoreSettings, startsChats: Bool = true
    ) async throws -> any OfficialTransport {
        switch address {
        case .phone: preconditionFailure("a phone's transport needs its pairing")
        case .library(let path):
            let database = try DatabaseFiles(prefix: databasePrefix)
            let condition = try await ThreadPool.shared.run { () throws(SystemError) in
                try database.condition()
            }
            var secret = passphrase?.take()
            if secret == nil, condition == .encrypted {
                secret = await ThreadPool.shared.run {
                    Question.secret("Passphrase of the SimpleX database: ")
                }
            }
            return try await LibraryTransport.open(library: path, database: database, passphrase: secret)
        case .program(let path):
            var start = CoreProgramSettings(
                database: try DatabaseFiles(prefix: databasePrefix), filesFolder: settings.filesFolder,
                temporaryFolder: settings.temporaryFolder)
            start.program = path
            start.newProfile = settings.profileName
            start.askProfile = settings.askName
            start.startsChats = startsChats
            return try await ProcessTransport.start(start)
        case .webSocket(let endpoint):
            Terminal.complain(
                "chatfs: every program and user that reaches \(endpoint) can read and send everything, "
                    + "even a web page in a browser. The library (--core lib:…) opens no port.")
            return try await WebSocketTransport.connect(to: endpoint)
        }
    }
}
