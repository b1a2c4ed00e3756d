//! What becomes of connections when servers go, clients return and time passes.

use kps_ruleset::ipvs::{
    Forwarding, Netmask, Persistence, RealServer, Scheduler as Kind, VirtualServer,
};

use super::*;

fn server(number: u8) -> RealServer {
    RealServer::new([10, 244, 0, number].into(), 8080, Forwarding::Masquerade)
}

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 244, 0, number], 8080))
}

/// Returns a service by turns with servers 1 to 3, so that 3 comes first.
fn service(settings: Settings, persistence: Option<u32>) -> VirtualService {
    let mut definition = VirtualServer::new(Kind::RoundRobin);
    definition.real_servers = (1..=3).map(server).collect();
    definition.persistence = persistence.map(|timeout| Persistence {
        timeout,
        netmask: Netmask::full(false),
        engine: None,
    });
    VirtualService::new(&definition, settings).unwrap()
}

fn connection(client: u8, port: u16) -> Connection {
    Connection {
        protocol: Protocol::Tcp,
        source: SocketAddr::from(([192, 0, 2, client], port)),
        destination: SocketAddr::from(([10, 96, 0, 10], 80)),
    }
}

fn chosen(service: &mut VirtualService, connection: Connection) -> Option<SocketAddr> {
    let id = service.connect(connection)?;
    service.servers().server(id).map(|server| server.address)
}

fn counts(service: &VirtualService, number: u8) -> (u32, u32) {
    let id = service.servers().find(address(number)).unwrap();
    let server = service.servers().server(id).unwrap();
    (server.active, server.inactive)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_connection_counts_until_it_is_forgotten() {
    let mut service = service(Settings::default(), None);
    let opened = connection(1, 40001);
    service.connect(opened);
    assert_eq!(counts(&service, 3), (1, 0));
    service.packet(opened, Segment::Ack);
    service.packet(opened, Segment::Fin);
    service.reply(&opened, Segment::Fin);
    assert_eq!(service.connection(&opened).map(|entry| entry.state), Some(State::TimeWait));
    assert_eq!(counts(&service, 3), (0, 1));
    service.advance(seconds(119));
    assert_eq!(counts(&service, 3), (0, 1));
    service.advance(seconds(120));
    assert_eq!(counts(&service, 3), (0, 0));
    assert_eq!(service.connection(&opened), None);
}

#[test]
fn a_packet_of_no_connection_passes() {
    let mut service = service(Settings::default(), None);
    assert_eq!(service.packet(connection(1, 40001), Segment::Ack), Decision::Ignored);
}

#[test]
fn a_connection_of_a_deleted_server_is_dropped_or_forgotten() {
    let opened = connection(1, 40001);
    let mut keeping = service(Settings::default(), None);
    keeping.connect(opened);
    assert!(keeping.remove(address(3)));
    assert_eq!(keeping.packet(opened, Segment::Ack), Decision::Dropped);
    let settings = Settings { expire_nodest_conn: true, ..Settings::default() };
    let mut expiring = service(settings, None);
    expiring.connect(opened);
    assert!(expiring.remove(address(3)));
    assert!(!expiring.remove(address(3)));
    assert_eq!(expiring.packet(opened, Segment::Ack), Decision::Ignored);
    assert_eq!(chosen(&mut expiring, opened), Some(address(2)));
}

#[test]
fn a_server_that_comes_back_has_its_connections_again() {
    let mut service = service(Settings::default(), None);
    let opened = connection(1, 40001);
    service.connect(opened);
    service.remove(address(3));
    service.add(&server(3));
    assert_eq!(counts(&service, 3), (1, 0));
    assert!(matches!(service.packet(opened, Segment::Ack), Decision::Server(_)));
}

#[test]
fn a_syn_replaces_a_closed_connection() {
    let mut service = service(Settings::default(), None);
    let opened = connection(1, 40001);
    assert_eq!(chosen(&mut service, opened), Some(address(3)));
    assert_eq!(chosen(&mut service, opened), Some(address(3)), "still being opened");
    service.packet(opened, Segment::Ack);
    service.packet(opened, Segment::Reset);
    assert_eq!(chosen(&mut service, opened), Some(address(2)));
    assert_eq!(counts(&service, 3), (0, 0));
}

#[test]
fn with_expire_nodest_conn_a_syn_leaves_a_server_of_weight_0() {
    let settings = Settings { expire_nodest_conn: true, ..Settings::default() };
    let mut service = service(settings, None);
    let opened = connection(1, 40001);
    service.connect(opened);
    service.add(&RealServer { weight: 0, ..server(3) });
    assert!(matches!(service.packet(opened, Segment::Ack), Decision::Server(_)));
    assert_eq!(chosen(&mut service, opened), Some(address(2)));
}

#[test]
fn a_persistent_client_returns_until_its_time_is_over() {
    let mut service = service(Settings::default(), Some(10));
    assert_eq!(chosen(&mut service, connection(1, 40001)), Some(address(3)));
    assert_eq!(chosen(&mut service, connection(2, 40001)), Some(address(2)));
    assert_eq!(chosen(&mut service, connection(1, 40002)), Some(address(3)));
    // The template outlives its time as long as its connections, then 60 s at a time.
    service.advance(seconds(69));
    assert_eq!(service.templates(), 2);
    service.advance(seconds(70));
    assert_eq!(service.templates(), 0);
    assert_eq!(chosen(&mut service, connection(1, 40003)), Some(address(1)));
}

#[test]
fn a_persistent_client_leaves_a_quiesced_server_only_if_told_so() {
    for expires in [false, true] {
        let settings = Settings { expire_quiescent_template: expires, ..Settings::default() };
        let mut service = service(settings, Some(10));
        service.connect(connection(1, 40001));
        service.add(&RealServer { weight: 0, ..server(3) });
        let expected = if expires { address(2) } else { address(3) };
        assert_eq!(chosen(&mut service, connection(1, 40002)), Some(expected));
    }
}

#[test]
fn single_packets_leave_nothing_behind() {
    let mut definition = VirtualServer::new(Kind::RoundRobin);
    definition.one_packet = true;
    definition.real_servers = (1..=2).map(server).collect();
    let mut service = VirtualService::new(&definition, Settings::default()).unwrap();
    let datagram = Connection { protocol: Protocol::Udp, ..connection(1, 40001) };
    assert_eq!(chosen(&mut service, datagram), Some(address(2)));
    assert_eq!(chosen(&mut service, datagram), Some(address(1)));
    assert_eq!(counts(&service, 2), (0, 0));
}
