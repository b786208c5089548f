import Glibc
import Posix

/// The port that a server had the last time, which addresses that others have still name: the file `port` of its
/// folder.
public struct KeptPort: Sendable {
    private let folder: PrivateFolder

    public init(_ folder: PrivateFolder) { self.folder = folder }

    /// 1 to 65535; nil where there was none, or that cannot be read.
    public var last: UInt16? {
        guard
            let bytes = try? OpenFile("port", flags: O_RDONLY | O_NOFOLLOW, in: folder.directory)
                .readAll(limit: 16)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\n" }
        // 0 would be any port, another one at each start.
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(text), port > 0 else {
            return nil
        }
        return port
    }

    /// Listens on the port of the last time where any will do; where that is taken by now, or another is asked for, on
    /// that. Keeps what it became.
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
        // 0 is what a socket says that does not know its port.
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
    /// What others can write in an address: where every address of the machine is listened on, its name.
    public var reachableHost: String {
        guard host == "0.0.0.0" || host == "::" else { return host }
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, 255) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
