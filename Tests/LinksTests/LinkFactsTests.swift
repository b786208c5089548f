import Base
import ChatCore
import Testing

@testable import Links

@Suite("The facts of a file in its link")
struct LinkFactsTests {
    @Test("facts survive a round trip")
    func written() {
        let facts = LinkFacts(name: "ü \"a\".txt", size: 5 << 30, expires: Timestamp(seconds: 1_800_000_000))
        #expect(LinkFacts(facts.text) == facts)
        #expect(LinkFacts(LinkFacts(name: "a", size: 0, expires: nil).text).expires == nil)
    }

    @Test("invalid facts are ignored")
    func hostile() {
        #expect(LinkFacts(nil) == LinkFacts())
        for text in ["", "[]", "{", #"{"name":7}"#, #"{"size":-1}"#, #"{"size":1e99}"#, "\u{0}"] {
            #expect(LinkFacts(text) == LinkFacts(), "\(text)")
        }
        #expect(LinkFacts(#"{"name":"../../.bashrc","size":99999999999999}"#).name == "bashrc")
        #expect(LinkFacts(#"{"name":"..","size":99999999999999}"#).size == nil)
        #expect(LinkFacts(#"{"name":"a","expires":-5}"#).expires == nil)
        #expect(LinkFacts(#"{"name":"a","expires":9223372036854775807}"#).expires == nil)
        let long = #"{"name":""# + String(repeating: "a", count: 5000) + #""}"#
        #expect(LinkFacts(long) == LinkFacts())
    }

    @Test("a shortcut has its file's name and one line")
    func shortcut() {
        #expect(LinkShortcut.name(for: "a.bin") == "a.bin.url")
        let long = String(repeating: "é", count: 200)
        #expect(LinkShortcut.name(for: long).utf8.count <= 255)
        #expect(LinkShortcut.name(for: long).hasSuffix(".url"))
        #expect(
            String(decoding: LinkShortcut.content("simplex:/file#x"), as: UTF8.self)
                == "[InternetShortcut]\r\nURL=simplex:/file#x\r\n")
    }
}
