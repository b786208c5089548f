import Base
import ChatCore
import Testing
import XFTP

@testable import CoreServices

@Suite("Relays chosen by others")
struct RelayCheckTests {
    private static func relay(_ host: String, _ number: UInt8 = 5) throws -> RelayAddress {
        try #require(
            RelayAddress("xftp://\(Base64URL.encode([UInt8](repeating: number, count: 32)))@\(host)"))
    }

    private func refusal(_ relays: [RelayAddress], allowsUnknown: Bool = false, known: Set<RelayAddress> = [])
        -> String?
    {
        do throws(ChatError) {
            try RelayCheck.require(relays, allowsUnknown: allowsUnknown, isKnown: known.contains)
            return nil
        } catch {
            #expect(error.code == .file(.notApproved))
            return error.sentence
        }
    }

    @Test("known relays are permitted everywhere")
    func known() throws {
        let relays = try [Self.relay("relay.example"), Self.relay("127.0.0.1"), Self.relay("a.local:5443")]
        #expect(refusal(relays, known: Set(relays)) == nil)
        #expect(refusal([]) == nil)
    }

    @Test("the refusal names only unknown relays")
    func unknown() throws {
        let (mine, first, second) = try (
            Self.relay("mine.example"), Self.relay("one.example"), Self.relay("two.example:99", 6)
        )
        #expect(
            refusal([mine, first, second], known: [mine])
                == "The file is on relays that would see your network address. To allow them: chatfs approve "
                + "\(first.text) \(second.text)")
        #expect(refusal([mine, first, second], allowsUnknown: true, known: [mine]) == nil)
    }

    @Test(
        "relays in the own network are refused under every policy",
        arguments: [
            "127.0.0.1", "10.1.2.3", "localhost", "[fe80::1]", "nas.local", "192.168.0.1:5443", "0x7f.1",
        ])
    func inward(host: String) throws {
        let (outside, inside) = try (Self.relay("relay.example"), Self.relay(host))
        for allowsUnknown in [true, false] {
            #expect(
                refusal([outside, inside], allowsUnknown: allowsUnknown)
                    == "The file is on a relay inside this machine's own network. Approve it only if it is known "
                    + "to you: chatfs approve \(inside.text)")
        }
        #expect(refusal([outside, inside], allowsUnknown: true, known: [inside]) == nil)
    }

    @Test(
        "at most a dozen relays are named", arguments: [11, 12, 13, 40])
    func many(count: Int) throws {
        let relays = try (0..<count).map { try Self.relay("r\($0).example") }
        let sentence = try #require(refusal(relays))
        let named = sentence.components(of: "xftp://")
        #expect(named == min(count, 12))
        #expect(sentence.hasSuffix(" (and \(count - 12) more)") == (count > 12))
        #expect(sentence.contains("@r\(min(count, 12) - 1).example"))
    }

    @Test("sentences contain no password")
    func password() throws {
        let relay = RelayAddress(
            fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["relay.example"], port: 5443,
            password: "hush")
        #expect(try !#require(refusal([relay])).contains("hush"))
    }
}

extension String {
    /// Returns the number of occurrences of a text.
    fileprivate func components(of text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
