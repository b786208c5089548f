import Base
import Cryptography
import Testing

@testable import SMP

@Suite("Requests through a proxy")
struct ProxyTests {
    private static func proxied() throws -> ProxiedServer {
        ProxiedServer(
            sessionID: Known.sessionID, versions: 8...16, certificates: [[1, 2], [3]], signedKey: [4, 5])
    }

    @Test("commands and answers survive a round trip")
    func forms() throws {
        let commands: [Command] = [
            .proxy(to: try Known.server(), password: nil),
            .proxy(to: try Known.server(hosts: ["smp.example.org"], port: nil), password: [1, 2]),
            .proxyForward(version: 16, key: try Known.agreement(1).publicKey, box: [1, 2, 3]),
        ]
        let answers: [Answer] = [.proxyOpened(try Self.proxied()), .forwarded(box: [7, 8])]
        for version in SMPVersion.servers {
            for command in commands {
                #expect(Command(decoding: command.encoded(version: version), version: version) == command)
            }
            for answer in answers {
                #expect(Answer(decoding: answer.encoded(version: version), version: version) == answer)
            }
        }
    }

    @Test("truncated and extended bytes are refused")
    func cutOff() throws {
        let whole = Answer.proxyOpened(try Self.proxied()).encoded(version: 17)
        for count in 5..<whole.count {
            #expect(Answer(decoding: Array(whole.prefix(count)), version: 17) == nil)
        }
        #expect(Answer(decoding: whole + [0], version: 17) == nil)
        let command = Command.proxy(to: try Known.server(), password: [1]).encoded(version: 17)
        for count in 5..<command.count {
            #expect(Command(decoding: Array(command.prefix(count)), version: 17) == nil)
        }
    }

    @Test("only commands of senders are forwarded")
    func carried() throws {
        let key = try Known.signing(1).publicKey
        for command in [
            Command.send(flags: [], body: []), .senderKey(key: key), .linkKey(key: key),
            .linkGet,
        ] { #expect(ProxiedSession.carries(command)) }
        for command in [Command.subscribe, .ping, .delete, .acknowledge(messageID: [])] {
            #expect(!ProxiedSession.carries(command))
        }
    }

    @Test("servers with unsigned keys or other versions are refused")
    func refusals() throws {
        expect(.wrongIdentity) { try ProxiedSession(Self.proxied()) }
        var old = try Self.proxied()
        old.versions = 6...14
        expect(.unsupportedVersion) { try ProxiedSession(old) }
    }
}
