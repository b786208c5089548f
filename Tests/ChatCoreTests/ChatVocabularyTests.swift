import ChatCore
import Testing

@Suite struct ChatVocabularyTests {
    @Test(arguments: [("@7", ChatReference.direct(7)), ("#3", .group(3)), ("*1", .notes(1))])
    func chatReferenceRoundTrips(text: String, reference: ChatReference) {
        #expect(ChatReference(text) == reference)
        #expect(reference.description == text)
    }

    @Test(arguments: ["", "@", "7", "@0", "@-1", "?3", "@99999999999999999999"])
    func malformedReferenceIsNil(text: String) {
        #expect(ChatReference(text) == nil)
    }

    @Test func onlySmallMediaIsReceivedAutomatically() {
        let image = MessageContent(kind: .image(preview: ""))
        #expect(FilePolicy.receivesAtArrival(image, size: 522_240))
        #expect(!FilePolicy.receivesAtArrival(image, size: 522_241))
        let video = MessageContent(kind: .video(preview: "", seconds: 3))
        #expect(FilePolicy.receivesAtArrival(video, size: 1_047_552))
        #expect(!FilePolicy.receivesAtArrival(video, size: 1_047_553))
        #expect(!FilePolicy.receivesAtArrival(MessageContent(kind: .file), size: 1))
    }

    @Test func mediaTypeFollowsExtension() {
        #expect(MediaType(fileName: "a.JPG").name == "image/jpeg")
        #expect(MediaType(fileName: "a.tar.gz").name == "application/gzip")
        #expect(MediaType(fileName: "README") == .unknown)
        #expect(MediaType(fileName: "jpg") == .unknown)
        #expect(MediaType("image/png").kind == .image)
    }
}
