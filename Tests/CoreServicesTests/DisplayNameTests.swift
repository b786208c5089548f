import ChatCore
import Testing

@testable import CoreServices

@Suite("Names of profiles and groups")
struct DisplayNameTests {
    private func refusal(_ name: String, of what: String = "profile") -> String? {
        do throws(ChatError) {
            _ = try DisplayName.checked(name, of: what)
            return nil
        } catch {
            #expect(error.code == .invalidCommand)
            return error.sentence
        }
    }

    @Test(
        "ordinary names are accepted in composed form",
        arguments: [
            ("bob", "bob"), ("Zoë", "Zoë"), ("Zoe\u{308}", "Zo\u{EB}"), ("book club", "book club"),
            ("a@b", "a@b"),
            ("👩\u{200D}👩\u{200D}👧", "👩\u{200D}👩\u{200D}👧"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("~x", "~x"), ("a#*", "a#*"), ("❤\u{FE0F}", "❤\u{FE0F}"),
        ])
    func taken(name: String, composed: String) throws {
        let checked = try DisplayName.checked(name, of: "profile")
        #expect(Array(checked.unicodeScalars) == Array(composed.unicodeScalars))
        #expect(try Array(DisplayName.checked(checked, of: "profile").utf8) == Array(checked.utf8))
    }

    @Test(
        "each refusal names its reason and owner",
        arguments: [
            ("", "cannot be empty"), (" a", "cannot begin or end with a space"),
            ("a ", "cannot begin or end with a space"),
            ("\u{A0}a", "cannot begin or end with a space"), ("\n", "cannot begin or end with a space"),
            ("@a", "cannot begin with @, # or *"), ("#a", "cannot begin with @, # or *"),
            ("*", "cannot begin with @, # or *"), ("a\u{7}b", "cannot hold control characters"),
            ("a\u{0}b", "cannot hold control characters"), ("a\u{202E}b", "cannot hold control characters"),
            ("a\u{2028}b", "cannot hold control characters"),
            ("a\u{2066}b", "cannot hold control characters"),
            ("a\u{200B}b", "cannot hold invisible characters"),
            ("a\u{3164}b", "cannot hold invisible characters"),
            ("a\u{AD}b", "cannot hold invisible characters"),
            ("a\u{200D}b", "cannot hold invisible characters"),
        ])
    func refused(name: String, reason: String) {
        #expect(refusal(name) == "The name of a profile \(reason).")
        #expect(refusal(name, of: "group") == "The name of a group \(reason).")
    }

    @Test(
        "64 characters of up to four bytes on average fit",
        arguments: [63, 64, 65])
    func length(count: Int) {
        for letter in ["x", "é", "葛", "😀"] {
            #expect((refusal(String(repeating: letter, count: count)) == nil) == (count <= 64))
        }
        // One visible character, three and more when stored.
        let families = String(repeating: "👩\u{200D}👧", count: count)
        #expect(refusal(families) == "The name of a profile can have at most 64 characters.")
    }

    @Test("accents of one character have a limit")
    func accents() {
        // 1 + 2 bytes each, 256 in all.
        #expect(refusal("x" + String(repeating: "\u{334}", count: 127)) == nil)
        #expect(
            refusal("x" + String(repeating: "\u{334}", count: 128))
                == "The name of a profile can have at most 64 characters.")
    }
}
