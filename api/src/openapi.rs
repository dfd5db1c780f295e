//! `/openapi.json`, generated from the handlers.

use salvo::{
    Depot, FlowCtrl, Handler, Request, Response, Router, async_trait,
    oapi::{
        Object, OpenApi, Operation, RefOr, Schema, SecurityRequirement, SecurityScheme,
        naming::{self, FlexNamer},
        security::{Http, HttpAuthScheme},
    },
    writing::Json,
};

const DESCRIPTION: &str = "Steers pipelines that keep analytic marts fresh. Errors are RFC 9457 problems. \
    Every answer carries `X-Request-Id`. Without tokens every route answers 403 to what another website sends.";

/// Answers that leave out fields without a value.
const WITHOUT_SOME_FIELDS: [&str; 4] = ["FieldError", "Hooks", "PipelineOptions", "ProblemOfExtensions"];

/// The document of these routes. Made once: the names of schemas are kept by the library for the whole process.
pub fn describe(routes: &Router) -> OpenApi {
    // `PageOfRun`: the document allows no `<` in a name.
    naming::set_namer(FlexNamer::new().short_mode(true).generic_delimiter("Of", ""));
    let bearer = Http::new(HttpAuthScheme::Bearer).description("A token of `VITRINA_TOKENS`");
    let mut document = OpenApi::new("Vitrina", env!("CARGO_PKG_VERSION"))
        .add_security_scheme("token", SecurityScheme::Http(bearer))
        .security([SecurityRequirement::new("token", Vec::<String>::new())])
        .merge_router(routes);
    document.info.description = Some(DESCRIPTION.to_owned());
    let operations = document.paths.values_mut().flat_map(|path| path.operations.values_mut());
    operations.for_each(free_probes);
    for (name, schema) in document.components.schemas.iter_mut() {
        if let RefOr::Type(Schema::Object(object)) = schema {
            require_fields(name, object);
            object.properties.values_mut().for_each(flatten);
        }
    }
    document
}

/// The probes need no token.
fn free_probes(operation: &mut Operation) {
    if operation.tags.iter().any(|tag| tag == "service") {
        operation.securities = Some(Vec::new());
    }
}

/// An answer has all its fields, and null where there is no value.
fn require_fields(name: &str, schema: &mut Object) {
    let is_request = name.ends_with("Input") || name.ends_with("Patch");
    if !is_request && !WITHOUT_SOME_FIELDS.contains(&name) {
        schema.required = schema.properties.keys().cloned().collect();
    }
}

/// Takes a field out of the `allOf` in which the library's macros wrap it with its description: client generators take that
/// for another schema.
fn flatten(field: &mut RefOr<Schema>) {
    if let Some(flat) = flattened(field) {
        *field = flat;
    }
}

fn flattened(field: &RefOr<Schema>) -> Option<RefOr<Schema>> {
    let RefOr::Type(Schema::AllOf(all)) = field else { return None };
    let [inner, RefOr::Type(Schema::Object(description))] = all.items.as_slice() else { return None };
    let (mut flat, description) = (inner.clone(), description.description.clone()?);
    match &mut flat {
        RefOr::Ref(reference) => reference.description = description,
        RefOr::Type(Schema::OneOf(choice)) => choice.description = Some(description),
        RefOr::Type(Schema::Object(object)) => object.description = Some(description),
        RefOr::Type(_) => return None,
    }
    Some(flat)
}

pub struct ServedDocument(pub &'static OpenApi);

#[async_trait]
impl Handler for ServedDocument {
    async fn handle(&self, _req: &mut Request, _depot: &mut Depot, res: &mut Response, _ctrl: &mut FlowCtrl) {
        res.render(Json(self.0));
    }
}
