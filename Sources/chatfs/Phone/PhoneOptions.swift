import Base
import CommandLineKit
import Glibc
import Network
import OfficialCore
import RemoteControl

/// Options of a phone: its way to this computer, accepted versions, and limits for receiving.
struct PhoneOptions: Sendable {
    /// Address to listen on; nil for the address of the default interface and any port.
    private var listening: (host: String, port: UInt16)?
    /// Host and optional port in the link; nil for the address that listens.
    private var name: String?
    private(set) var range = PhoneOptions.testedVersions
    /// Largest file in bytes that the phone receives for a reader here; 0 for none.
    private(set) var limit: UInt64 = 100 << 20
    private(set) var isGiven = false

    /// The values of `--policy`.
    private enum Policy: String, CaseIterable {
        case receive
        case phoneOnly = "phone-only"
    }

    /// From the oldest compatible version to the newest tested one.
    private static let testedVersions: AppVersionRange = {
        guard let first = AppVersion("6.3"), let last = AppVersion("7.0.99"),
            let range = AppVersionRange(first, last)
        else { preconditionFailure("two versions") }
        return range
    }()

    private static let listen = Option(
        "listen", named: "ADDRESS[:PORT]", .text,
        "With --core phone: address and port to listen on; default the address in its network and any port."
    )
    private static let host = Option(
        "host", named: "NAME[:PORT]", .text,
        "With --core phone: name and port to print in the link, such as a forwarded port or a name in a VPN.")
    private static let versions = Option(
        "versions", named: "MIN-MAX", .text,
        "With --core phone: accepted versions of the app; default "
            + "\(testedVersions.minimum)-\(testedVersions.maximum). A newer app may need a higher MAX.")
    private static let policy = Option(
        "policy", named: "POLICY", .choice(Policy.self),
        "With --core phone: receive makes the phone receive a missing file that you open, which uses its "
            + "storage (the default); phone-only prevents that.")
    private static let receiveLimit = Option(
        "receive-limit", named: "SIZE", .byteCount,
        "With --core phone: do not make it receive larger files; default \(ByteCount.exact(PhoneOptions().limit))."
    )

    /// For commands without `--core`.
    static let phone = Option(
        "name", named: "NAME", .text,
        "Name of the phone, or for a new phone; not needed if there is only one.")

    static let options: [any OptionDeclaration] = [listen, host, versions, policy, receiveLimit]

    /// Returns the value of `--core` for the phone of `phone`.
    static func core(_ invocation: Invocation) -> String {
        invocation[phone].map { "phone:" + $0 } ?? "phone"
    }

    init() {}

    /// Reads `options`, which the command must have.
    init(_ invocation: Invocation) throws(UsageError) {
        isGiven = Self.options.contains(where: invocation.isGiven)
        if let text = invocation[Self.listen] {
            guard let place = Self.place(text, port: 0) else {
                throw UsageError("--listen takes an address of this machine, or ADDRESS:PORT")
            }
            listening = place
        }
        if let text = invocation[Self.host] {
            guard Self.place(text, port: 0) != nil else {
                throw UsageError("--host takes a name or an address, or NAME:PORT")
            }
            name = text
        }
        if let text = invocation[Self.versions] {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, let first = AppVersion(parts[0]), let last = AppVersion(parts[1]),
                let given = AppVersionRange(first, last)
            else { throw UsageError("--versions takes two versions, such as 6.3-7.1") }
            range = given
        }
        if let limit = invocation[Self.receiveLimit] { self.limit = limit }
        if invocation[Self.policy] == .phoneOnly { limit = 0 }
    }

    /// Parses a host with an optional port.
    private static func place(_ text: String, port: UInt16) -> (host: String, port: UInt16)? {
        if let endpoint = Endpoint(text) { return (endpoint.host, endpoint.port) }
        let host = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !host.contains("@"),
            !host.contains("/"), host.contains("::") || host.filter({ $0 == ":" }).count != 1
        else { return nil }
        return (host, port)
    }

    /// Returns the present address of this computer, for a new link. Blocks briefly.
    func place() -> PhonePlace {
        let named = name.flatMap { Self.place($0, port: 0) }
        let listens =
            listening
            ?? (named == nil ? (LocalAddress.present(), 0) : ("0.0.0.0", 0))
        var place = PhonePlace(endpoint: Endpoint(host: listens.host, port: listens.port))
        place.host = named?.host ?? (Self.isAny(listens.host) ? LocalAddress.present() : nil)
        if let port = named?.port, port > 0 { place.port = port }
        return place
    }

    /// True if a paired phone can find this computer by multicast, which announces only an own address.
    var isAnnounced: Bool { name == nil && listening?.host.hasPrefix("127.") != true }

    private static func isAny(_ host: String) -> Bool { host == "0.0.0.0" || host == "::" }

    /// Name of this computer on the phone.
    static var computer: DeviceName {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, 255) == 0 else { return DeviceName("") }
        return DeviceName(
            String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}
