//! Finding what answers a request: the routes of [`ROUTES`](crate::routes::ROUTES), by method and path.

use std::pin::Pin;

use hyper::{Method, header::HeaderValue};
use matchit::{Params, Router};

use crate::{
    auth::Access,
    call::Call,
    reply::Answer,
    telemetry::{Metrics, RouteSeries},
};

/// What a handler promises.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A handler as the table calls it.
pub(crate) type Run = for<'a> fn(Call<'a>) -> Answering<'a>;

/// One line of the list of routes.
pub(crate) type Line = (Method, &'static str, Access, Run);

/// A route, with the series that it counts into: looked up here and not per request.
pub(crate) struct Route {
    pub(crate) access: Access,
    pub(crate) run: Run,
    pub(crate) series: RouteSeries,
}

/// All routes.
pub(crate) struct Table {
    methods: [(Method, Router<Route>); 4],
    /// Counts what has no route.
    pub(crate) unmatched: RouteSeries,
}

/// What there is at an address.
pub(crate) enum Found<'t, 'p> {
    /// A route, and what of the path is variable.
    Route(&'t Route, Params<'t, 'p>),
    /// Routes of other methods: what `Allow` lists.
    Other(HeaderValue),
    Nothing,
}

impl Table {
    /// # Panics
    /// Where two routes are the same.
    pub(crate) fn new(lines: &[Line], metrics: &Metrics) -> Self {
        let mut methods = [Method::GET, Method::POST, Method::PUT, Method::DELETE]
            .map(|method| (method, Router::new()));
        for (method, path, access, run) in lines {
            let (method, router) = methods
                .iter_mut()
                .find(|(known, _)| known == method)
                .expect("the table has all methods of the routes");
            let series = metrics.route(path, name(method));
            let route = Route { access: *access, run: *run, series };
            router.insert(*path, route).expect("routes differ");
        }
        Self { methods, unmatched: metrics.route("unmatched", "any") }
    }

    /// What answers a method at a path. HEAD is answered as GET is: the body is left out where it is sent.
    pub(crate) fn find<'p>(&self, method: &Method, path: &'p str) -> Found<'_, 'p> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        if let Some((_, router)) = self.methods.iter().find(|(known, _)| known == method)
            && let Ok(found) = router.at(path)
        {
            return Found::Route(found.value, found.params);
        }
        let others = self.methods.iter().filter(|(_, router)| router.at(path).is_ok());
        let others: Vec<_> = others.map(|(method, _)| name(method)).collect();
        let allow = others.join(",").replace("GET", "GET,HEAD");
        match HeaderValue::try_from(allow) {
            Ok(allow) if !allow.is_empty() => Found::Other(allow),
            _ => Found::Nothing,
        }
    }
}

/// A method of a route, in metrics and in `Allow`.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "GET",
    }
}
