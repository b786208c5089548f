import Testing

@testable import RemoteControl

@Suite struct LocalAddressTests {
    private typealias Candidate = LocalAddress.Candidate

    @Test func addressThatLeadsToTheNetworkIsChosen() {
        let candidates = [
            Candidate(interface: "eth0", address: "10.0.0.2"),
            Candidate(interface: "wlan0", address: "192.168.1.7"),
        ]
        #expect(LocalAddress.choose(from: candidates, leaving: "192.168.1.7") == "192.168.1.7")
        #expect(LocalAddress.choose(from: candidates, leaving: nil) == "10.0.0.2")
    }

    @Test func tunnelsAndContainersAreLeftOut() {
        let candidates = [
            Candidate(interface: "docker0", address: "172.17.0.1"),
            Candidate(interface: "wg0", address: "10.8.0.2", isPointToPoint: true),
            Candidate(interface: "wlan0", address: "192.168.1.7"),
        ]
        #expect(LocalAddress.choose(from: candidates, leaving: "10.8.0.2") == "192.168.1.7")
    }

    @Test func tunnelAloneIsBetterThanNothing() {
        let candidates = [Candidate(interface: "wg0", address: "10.8.0.2", isPointToPoint: true)]
        #expect(LocalAddress.choose(from: candidates, leaving: "10.8.0.2") == "10.8.0.2")
        #expect(LocalAddress.choose(from: [], leaving: nil) == nil)
    }
}
