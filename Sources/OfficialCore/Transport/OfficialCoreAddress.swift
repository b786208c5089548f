import Base
import Network

/// The address of an official core, the value of `--core`.
public enum OfficialCoreAddress: Hashable, Sendable {
    /// `lib:/path/libsimplex.so`: in this process.
    case library(path: String)
    /// `ws://127.0.0.1:5225`: a running program. Without encryption and password, so only on this machine
    /// unless the user confirms that the network path is safe.
    case webSocket(Endpoint)
    /// `simplex-chat` or `simplex-chat:/path`: a program to start.
    case program(path: String?)
    /// `phone` or `phone:NAME`: a phone that connects to this computer.
    case phone(name: String?)

    /// - Throws: `.invalidCommand` with a sentence for the user.
    public init(_ text: String, allowsRemote: Bool = false) throws(OfficialCoreError) {
        if let path = Self.rest(of: text, after: "lib:") {
            guard path.isAbsolutePath else {
                throw Self.invalid("Name the library by its absolute path: lib:/path/libsimplex.so.")
            }
            self = .library(path: path)
        } else if let rest = Self.rest(of: text, after: "ws://") {
            self = .webSocket(try Self.endpoint(rest, allowsRemote: allowsRemote))
        } else if text.hasPrefix("wss://") {
            throw Self.invalid(
                "SimpleX Chat does not support TLS on its port. Use ws://127.0.0.1:PORT, through an SSH tunnel if "
                    + "it is on another machine.")
        } else if text == "phone" {
            self = .phone(name: nil)
        } else if let name = Self.rest(of: text, after: "phone:") {
            guard !name.isEmpty, name.utf8.count <= 64,
                name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
            else { throw Self.invalid("The name of a phone has 1 to 64 bytes and no line breaks.") }
            self = .phone(name: name)
        } else if text == "simplex-chat" {
            self = .program(path: nil)
        } else if let path = Self.rest(of: text, after: "simplex-chat:") {
            guard path.isAbsolutePath else {
                throw Self.invalid("Name the program by its absolute path: simplex-chat:/path/simplex-chat.")
            }
            self = .program(path: path)
        } else {
            throw Self.invalid(
                "The core is lib:/path/libsimplex.so, ws://127.0.0.1:PORT, simplex-chat, simplex-chat:/path, "
                    + "phone or phone:NAME.")
        }
    }

    private static func endpoint(
        _ text: String, allowsRemote: Bool
    ) throws(OfficialCoreError) -> Endpoint {
        let authority = text.hasSuffix("/") ? String(text.dropLast()) : text
        guard let endpoint = Endpoint(authority), endpoint.port > 0 else {
            throw invalid("The address of a running core is ws://127.0.0.1:PORT.")
        }
        // The name may resolve to ::1, where the program does not listen.
        if endpoint.host.lowercased() == "localhost" {
            return Endpoint(host: "127.0.0.1", port: endpoint.port)
        }
        guard endpoint.isLoopback || allowsRemote else {
            throw invalid(
                "ChatFS attaches only to a core on this machine, because any host on the network path could read and "
                    + "send all messages.")
        }
        return endpoint
    }

    private static func rest(of text: String, after prefix: String) -> String? {
        text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }

    private static func invalid(_ sentence: String) -> OfficialCoreError {
        OfficialCoreError(.invalidCommand, sentence)
    }
}
