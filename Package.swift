// swift-tools-version: 6.2
import PackageDescription

/// Builds every Swift target alike: Swift 6 language mode, every warning an error.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

/// A library target. `uses` lists its permitted imports; a test checks the direction.
func module(_ name: String, uses: [String]) -> Target {
    .target(name: name, dependencies: uses.map { .init(stringLiteral: $0) }, swiftSettings: settings)
}

/// The tests of one target, with the shared helpers for processes and folders.
func tests(of name: String, uses: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: ([name, "TestSupport"] + uses).map { .init(stringLiteral: $0) },
        resources: [.copy("Resources")].filter { _ in
            [
                "Cryptography", "Ratchet", "SMP", "Agent", "ChatProtocol", "XFTP", "OfficialCore",
                "RemoteControl",
            ].contains(name)
        },
        swiftSettings: settings)
}

/// A C library of Debian, found through pkg-config.
func library(_ name: String, pkgConfig: String, package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// The commit in `chatfs --version --verbose`. Only release builds set it, because each commit would otherwise link
/// every test again.
let commit = (Context.environment["CHATFS_COMMIT"] ?? "").filter {
    $0.isASCII && ($0.isHexDigit || $0 == "+")
}

let package = Package(
    name: "chatfs",
    products: [
        .executable(name: "chatfs", targets: ["chatfs"]),
        .executable(name: "chatfs-bench", targets: ["chatfs-bench"]),
    ],
    targets: [
        library("CFuse3", pkgConfig: "fuse3", package: "libfuse3-dev"),
        library("CSodium", pkgConfig: "libsodium", package: "libsodium-dev"),
        library("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
        library("CNghttp2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
        library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        .target(name: "CLinux"),
        // Debian's toml++ consists of headers only.
        .target(name: "CToml"),
        .target(name: "CKeyMemory", dependencies: ["COpenSSL"]),
        // Optimized in debug builds too, which would take minutes for the files of the tests.
        .target(name: "CSalsa20", cSettings: [.unsafeFlags(["-O2"])]),
        .target(
            name: "CRelease", dependencies: ["CFuse3", "CSodium", "CSQLite", "COpenSSL", "CNghttp2"],
            cSettings: commit.isEmpty ? [] : [.define("CHATFS_COMMIT", to: "\"\(commit)\"")]),

        module("Base", uses: []),
        module("Posix", uses: ["Base", "CLinux"]),
        module("Metrics", uses: ["Base", "Posix"]),
        module(
            "Cryptography",
            uses: ["Base", "Posix", "CKeyMemory", "CSalsa20", "CSodium", "COpenSSL", "CLinux"]),
        module("KeySlots", uses: ["Base", "Posix", "Cryptography", "CLinux"]),
        module("SealedPages", uses: ["Base", "Posix", "Cryptography", "CLinux", "CSQLite"]),
        module("Store", uses: ["Base", "Posix", "Cryptography", "SealedPages", "CSQLite"]),
        module("Keyring", uses: ["Base", "Posix", "Cryptography"]),
        module(
            "Unlocking", uses: ["Base", "Posix", "Cryptography", "KeySlots", "Keyring", "Store", "CLinux"]),
        module("Network", uses: ["Base", "Posix", "COpenSSL", "CNghttp2", "CLinux"]),
        module("JSON", uses: ["Base"]),
        module("QRCodes", uses: ["Base"]),
        module("ChatCore", uses: ["Base"]),
        module("Ratchet", uses: ["Base", "Cryptography"]),
        module("SMP", uses: ["Base", "Cryptography"]),
        module("Agent", uses: ["Base", "Posix", "Cryptography", "Store", "Ratchet", "SMP"]),
        module("ChatProtocol", uses: ["Base", "JSON"]),
        module("XFTP", uses: ["Base", "Posix", "Cryptography", "Network", "CLinux", "CZlib"]),
        module("XFTPRelay", uses: ["Base", "Posix", "Cryptography", "Store", "Network", "XFTP"]),
        module(
            "SMPRelay", uses: ["Base", "Posix", "Cryptography", "Store", "Network", "SMP", "SMPClient"]),
        module("SMPClient", uses: ["Base", "Posix", "Cryptography", "Network", "SMP"]),
        module("RemoteControl", uses: ["Base", "Posix", "Cryptography", "JSON", "Network"]),
        module("CoreServices", uses: ["Base", "Posix", "Cryptography", "Store", "ChatCore", "XFTP"]),
        module(
            "EmbeddedCore",
            uses: [
                "Base", "Posix", "JSON", "Cryptography", "Store", "ChatCore", "Network", "XFTP",
                "CoreServices",
                "SMP", "SMPClient", "Ratchet", "Agent", "ChatProtocol",
            ]),
        module(
            "OfficialCore",
            uses: [
                "Base", "JSON", "Posix", "Cryptography", "ChatCore", "Store", "Network", "XFTP",
                "CoreServices", "RemoteControl",
            ]),
        module(
            "Links", uses: ["Base", "Posix", "Cryptography", "Store", "ChatCore", "XFTP", "CoreServices"]),
        module("Namespace", uses: ["Base", "Cryptography", "Store", "ChatCore"]),
        module(
            "Hydration", uses: ["Base", "Posix", "Metrics", "Cryptography", "ChatCore", "XFTP", "CLinux"]),
        module("Keeping", uses: ["Base", "Cryptography", "Store", "ChatCore"]),
        module("Media", uses: ["Base", "Posix", "Cryptography", "ChatCore"]),
        module("Outbox", uses: ["Base", "Posix", "Cryptography", "Store", "ChatCore", "Media", "CLinux"]),
        module("Thumbnails", uses: ["Base", "Posix", "Cryptography", "CLinux"]),
        module(
            "FileSystem",
            uses: [
                "Base", "Posix", "Cryptography", "ChatCore", "Namespace", "Hydration", "Outbox", "Thumbnails",
            ]),
        module("Fuse", uses: ["Base", "Posix", "Metrics", "Namespace", "FileSystem", "CFuse3", "CLinux"]),
        module(
            "Verification",
            uses: [
                "Base", "Posix", "Cryptography", "Store", "ChatCore", "EmbeddedCore", "OfficialCore", "Links",
                "Namespace", "Outbox",
            ]),
        module(
            "Archive",
            uses: [
                "Base", "Posix", "Cryptography", "KeySlots", "Store", "ChatCore", "EmbeddedCore",
                "OfficialCore", "Links", "Namespace", "Outbox", "CLinux",
            ]),
        module("Desktop", uses: ["Base", "Posix", "Metrics", "Cryptography", "ChatCore", "CLinux"]),
        module("MessageBus", uses: ["Base", "Posix", "CLinux"]),
        module("Notifications", uses: ["Base", "Posix", "ChatCore", "MessageBus"]),
        module("CommandLineKit", uses: ["Base", "Posix", "CLinux"]),
        module("Configuration", uses: ["Base", "Posix", "CommandLineKit", "CToml"]),
        .executableTarget(
            name: "chatfs",
            dependencies: [
                "Base", "Posix", "Metrics", "CLinux", "Cryptography", "KeySlots", "Keyring", "Unlocking",
                "Network",
                "ChatCore", "XFTP", "XFTPRelay", "SMPRelay", "EmbeddedCore", "Archive", "OfficialCore",
                "RemoteControl", "Links",
                "Namespace", "Hydration", "Media", "Outbox", "Thumbnails",
                "FileSystem",
                "Fuse",
                "Desktop", "Keeping", "MessageBus", "Notifications", "Verification", "QRCodes", "SMP",
                "SMPClient", "CommandLineKit", "Configuration", "CRelease",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "chatfs-bench",
            dependencies: [
                "Base", "Posix", "Cryptography", "KeySlots", "Unlocking", "Network", "ChatCore",
                "EmbeddedCore", "CommandLineKit", "ScriptedCore", "SMP", "RemoteControl", "COpenSSL",
            ],
            swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["Base", "Network", "Posix", "Store"],
            path: "Tests/TestSupport", swiftSettings: settings),
        // Also for the measurements.
        .target(
            name: "ScriptedCore", dependencies: ["Base", "Posix"], path: "Tests/ScriptedCore",
            swiftSettings: settings),
        .target(
            name: "GroupHosting",
            dependencies: ["Base", "Agent", "ChatProtocol", "Network", "SMP", "SMPClient", "TestSupport"],
            path: "Tests/GroupHosting", swiftSettings: settings),
        .target(
            name: "InlineSending",
            dependencies: ["Base", "Agent", "ChatProtocol", "Network", "SMP", "SMPClient", "TestSupport"],
            path: "Tests/InlineSending", swiftSettings: settings),
        .target(
            name: "CoreContract", dependencies: ["Base", "ChatCore"], path: "Tests/CoreContract",
            swiftSettings: settings),
        tests(of: "Base"),
        tests(of: "Posix"),
        tests(of: "Metrics", uses: ["Posix"]),
        tests(of: "Cryptography"),
        tests(of: "KeySlots", uses: ["Cryptography"]),
        tests(of: "Keyring", uses: ["Cryptography", "Posix", "chatfs"]),
        tests(
            of: "Unlocking", uses: ["Cryptography", "KeySlots", "Keyring", "Posix", "Store"]),
        tests(of: "SealedPages", uses: ["Cryptography", "Posix", "Store", "CSQLite"]),
        tests(of: "Store", uses: ["Cryptography"]),
        tests(of: "Network", uses: ["COpenSSL"]),
        tests(of: "JSON"),
        tests(of: "QRCodes", uses: ["Posix"]),
        tests(of: "ChatCore"),
        tests(of: "Ratchet", uses: ["Cryptography"]),
        tests(of: "SMP", uses: ["Cryptography", "Ratchet"]),
        tests(of: "SMPRelay", uses: ["SMP", "Cryptography", "Network", "Posix", "Store"]),
        tests(of: "SMPClient", uses: ["SMP", "SMPRelay", "Cryptography", "Network", "Posix", "chatfs"]),
        tests(
            of: "Agent",
            uses: [
                "Cryptography", "Network", "Posix", "Ratchet", "SMP", "SMPClient", "SMPRelay", "Store",
            ]),
        tests(of: "ChatProtocol", uses: ["JSON"]),
        tests(of: "XFTP", uses: ["Cryptography", "Network", "XFTPRelay", "chatfs"]),
        tests(of: "XFTPRelay", uses: ["XFTP", "Cryptography", "Network", "chatfs"]),
        tests(
            of: "RemoteControl",
            uses: [
                "COpenSSL", "ChatCore", "Cryptography", "JSON", "Network", "Notifications", "OfficialCore",
                "Posix", "ScriptedCore", "chatfs",
            ]),
        tests(of: "CoreServices", uses: ["ChatCore", "Cryptography", "Posix", "Store", "XFTP"]),
        tests(
            of: "EmbeddedCore",
            uses: [
                "XFTP", "XFTPRelay", "Network", "ChatCore", "Cryptography", "Store", "SMP", "SMPClient",
                "SMPRelay", "Agent", "ChatProtocol", "JSON", "GroupHosting", "InlineSending", "CoreContract",
                "CSQLite", "chatfs",
            ]),
        tests(of: "Configuration", uses: ["CommandLineKit", "Posix"]),
        tests(of: "ScriptedCore", uses: ["JSON"]),
        tests(
            of: "OfficialCore",
            uses: ["JSON", "ChatCore", "ScriptedCore", "Store", "Network", "CoreContract", "chatfs"]),
        tests(of: "Links", uses: ["ChatCore", "Cryptography", "XFTP"]),
        tests(of: "Namespace", uses: ["ChatCore", "Store"]),
        tests(of: "Hydration", uses: ["ChatCore", "XFTP", "Cryptography"]),
        tests(of: "Keeping", uses: ["ChatCore", "Store"]),
        tests(of: "Media", uses: ["ChatCore", "Cryptography", "chatfs"]),
        tests(of: "Outbox", uses: ["ChatCore", "Cryptography", "Store"]),
        tests(of: "Thumbnails", uses: ["Cryptography"]),
        tests(
            of: "FileSystem",
            uses: [
                "ChatCore", "Namespace", "Hydration", "Outbox", "Store", "Thumbnails", "Desktop",
                "Notifications", "chatfs",
            ]),
        tests(of: "Fuse", uses: ["ChatCore", "Metrics", "Namespace", "FileSystem", "CFuse3", "CLinux"]),
        tests(
            of: "Verification",
            uses: ["ChatCore", "Cryptography", "EmbeddedCore", "Links", "Outbox", "Store"]),
        tests(of: "Archive", uses: ["ChatCore", "Cryptography", "EmbeddedCore", "KeySlots", "Store"]),
        tests(of: "CommandLineKit"),
        tests(of: "Desktop", uses: ["Metrics", "ChatCore", "Cryptography"]),
        tests(of: "MessageBus", uses: ["Base", "Posix", "chatfs"]),
        tests(of: "Notifications", uses: ["ChatCore", "MessageBus"]),
        .testTarget(
            name: "ChatFSTests", dependencies: ["Base", "Posix", "RemoteControl", "TestSupport", "chatfs"],
            swiftSettings: settings),
        .testTarget(
            name: "BenchTests",
            dependencies: ["Base", "Posix", "CommandLineKit", "TestSupport", "chatfs-bench"],
            swiftSettings: settings),
        .testTarget(
            name: "DurabilityTests",
            dependencies: [
                "Base", "Posix", "Cryptography", "Store", "ChatCore", "EmbeddedCore", "OfficialCore", "Links",
                "Namespace", "Outbox",
                "Hydration", "FileSystem", "CSQLite", "TestSupport", "chatfs",
            ],
            exclude: ["Recorder"], swiftSettings: settings),
        .testTarget(
            name: "MountTests",
            dependencies: [
                "Base", "Posix", "ChatCore", "ChatProtocol", "Cryptography", "EmbeddedCore", "Ratchet", "SMP",
                "GroupHosting", "InlineSending", "TestSupport", "chatfs", "chatfs-bench",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OfficialMountTests",
            dependencies: [
                "Base", "Cryptography", "Network", "Posix", "ScriptedCore", "TestSupport", "chatfs",
            ],
            swiftSettings: settings),
    ],
    cxxLanguageStandard: .cxx17
)

// Only for contrib/fuzz, which builds it with the toolchain's sanitizers into its own folder.
if Context.environment["CHATFS_FUZZING"] != nil {
    let fuzzed: [Target.Dependency] = [
        "Base", "Posix", "Cryptography", "KeySlots", "SealedPages", "Store", "Network", "Ratchet", "SMP",
        "SMPRelay", "Agent",
        "JSON", "ChatProtocol", "ChatCore", "XFTP", "XFTPRelay", "RemoteControl", "CoreServices",
        "EmbeddedCore",
        "OfficialCore", "Links", "Namespace", "Archive", "Media", "MessageBus", "Outbox", "Thumbnails",
        "Desktop",
        "Notifications", "CommandLineKit",
        "CLibFuzzer",
    ]
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzzing/CLibFuzzer"),
        .executableTarget(
            name: "chatfs-fuzzing", dependencies: fuzzed, path: "Tests/Fuzzing/Program",
            swiftSettings: settings),
    ]
}

// `contrib/test TARGET…` names test targets here. The build then contains only these and their dependencies.
if let wanted = Context.environment["CHATFS_TESTS"] {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var kept: Set<String> = []
    var open = wanted.split(separator: " ").map(String.init)
    while let name = open.popLast() {
        guard let target = targets[name] else { fatalError("CHATFS_TESTS: there is no target \(name)") }
        guard kept.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { open.append(dependency) }
    }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { !kept.contains($0.name) }
}
