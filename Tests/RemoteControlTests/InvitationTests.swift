import Base
import Cryptography
import Testing

@testable import RemoteControl

@Suite struct InvitationTests {
    private static func link(host: String = "192.0.2.7", name: String = "PC") throws -> String {
        let invitation = Invitation(
            authority: [UInt8](repeating: 7, count: 32), host: host, port: 5000,
            versions: RecordedSession.versions, name: DeviceName(name), time: 1,
            agreementKey: AgreementKey.generate().publicKey)
        return try invitation.link(session: .generate(), identity: .generate())
    }

    @Test func versionsAreComparedByNumbers() throws {
        let rising = ["6.4.0.7", "6.4.4.2", "6.4.5", "6.4.5.1", "6.10", "7.0"].compactMap { AppVersion($0) }
        #expect(rising.count == 6 && rising == rising.shuffled().sorted())
        for text in ["", ".", "6.", "6..4", "6.x", "-1", "6.4\n", "99999999999", " 6"] {
            #expect(AppVersion(text) == nil, "\(text)")
        }
        #expect(AppVersion(String(repeating: "1.", count: 40) + "1") == nil)
        #expect(AppVersionRange(rising[1], rising[0]) == nil)
        #expect(RecordedSession.versions.contains(rising[2]) && !RecordedSession.versions.contains(rising[5]))
    }

    @Test func namesAreSafeForLinks() {
        #expect(DeviceName("a+b 50%25").text == "a\u{FF0B}b 50\u{FF05}25")
        #expect(DeviceName("Jürgens \"PC\" \\ 🖥").text == "Jürgens \"PC\" \\ 🖥")
        #expect(DeviceName("a\u{0}\n\u{7F}\u{2028}b").text == "ab")
        #expect(DeviceName(" \t\u{1}").text == "Computer")
        let long = DeviceName(String(repeating: "👨‍👩‍👧", count: 9)).text
        #expect(long == String(repeating: "👨‍👩‍👧", count: 3))
    }

    @Test func jsonOfLinksEscapesAsThePhoneDoes() {
        #expect(Invitation.string("\"\\/\n\r\t\u{1F}\u{7F}ü") == #""\"\\/\n\r\t\u001f"# + "\u{7F}ü\"")
    }

    @Test func addressesWithColonsAreEncodedInTheLink() throws {
        #expect(try Self.link(host: "::1").contains("=@%3A%3A1:5000#/"))
        #expect(try Self.link(host: "computer.example").contains("=@computer.example:5000#/"))
        // A phone verifies the signatures over the plain text.
        for host in ["::1", "fd00::7", "computer.example"] {
            #expect(PhoneLink(try Self.link(host: host))?.host == host)
        }
        for host in ["", "[::1]", "a b", "a/b", "a@b", "a#b", "ü", String(repeating: "a", count: 254)] {
            #expect(throws: RemoteControlError.self) { try Self.link(host: host) }
        }
    }

    @Test func longestNameFitsAnAnnouncement() throws {
        let link = try Self.link(host: "255.255.255.255", name: String(repeating: "ü", count: 32))
        #expect(link.utf8.count <= 898)
        let packet = try Announcement.packet(
            link, key: .generate(), phone: AgreementKey.generate().publicKey)
        #expect(packet.count == Announcement.size)
        #expect(throws: RemoteControlError.self) {
            try Announcement.packet(
                String(repeating: "a", count: 899), key: .generate(),
                phone: AgreementKey.generate().publicKey)
        }
    }

    @Test func codeOfSmallNumbersHasNoLeadingZeros() {
        #expect(SessionCode(channelBinding: [UInt8](repeating: 0, count: 32)).description == "0")
        let bytes = [UInt8](repeating: 0, count: 29) + [0x0F, 0x42, 0x40]
        #expect(SessionCode(channelBinding: bytes).description == "10000 00")
    }
}
