import Glibc
import Posix

/// The previous port of a server, stored in the file `port` of its folder, so that published addresses stay valid.
public struct KeptPort: Sendable {
    private let folder: PrivateFolder

    public init(_ folder: PrivateFolder) { self.folder = folder }

    /// 1 to 65535, or nil if there is none or it is unreadable.
    public var last: UInt16? {
        guard
            let bytes = try? OpenFile("port", flags: O_RDONLY | O_NOFOLLOW, in: folder.directory)
                .readAll(limit: 16)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        // 0 would select a new port at each start.
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text), port > 0 else {
            return nil
        }
        return port
    }

    /// Listens on the previous port if any port will do, otherwise or if it is taken on the requested one. Stores the
    /// result.
    public func listen<Server, Failure: Error>(
        on endpoint: Endpoint, port: (Server) -> UInt16, _ listen: (Endpoint) throws(Failure) -> Server
    ) throws(Failure) -> Server {
        if endpoint.port == 0, let last,
            let server = try? listen(Endpoint(host: endpoint.host, port: last))
        {
            return server
        }
        let server = try listen(endpoint)
        keep(port(server))
        return server
    }

    private func keep(_ port: UInt16) {
        // A socket that does not know its port reports 0.
        guard port > 0, port != last else { return }
        do throws(SystemError) {
            try folder.write(Array("\(port)\n".utf8), to: "port")
        } catch {
            Log("relay").warning(
                "The next start may take another port, and addresses that others have name this one: "
                    + error.sentence)
        }
    }
}

extension Endpoint {
    /// The host for published addresses: this machine's name if the server listens on all addresses.
    public var reachableHost: String {
        guard host == "0.0.0.0" || host == "::" else { return host }
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, 255) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
