// Strings that would run a script if a page treated text as markup, a URL or code. Each calls
// `hit()`.

// Elements that run a script.
const ELEMENTS = [
  "<script>hit()</script>",
  "<ScRiPt>hit()</sCrIpT>",
  "<script src=data:,hit()></script>",
  "<script type=module>hit()</script>",
  "<img src=x onerror=hit()>",
  "<img src=x:x onerror='hit()'>",
  "<image src=x onerror=hit()>",
  "<svg onload=hit()>",
  "<svg/onload=hit()>",
  "<svg><script>hit()</script></svg>",
  "<svg><animate onbegin=hit() attributeName=x dur=1s>",
  "<svg><use href=data:image/svg+xml,x onload=hit()>",
  "<body onload=hit()>",
  "<iframe src=javascript:hit()>",
  "<iframe srcdoc='<script>parent.hit()</script>'>",
  "<object data=javascript:hit()>",
  "<embed src=javascript:hit()>",
  "<video><source onerror=hit()>",
  "<audio src=x onerror=hit()>",
  "<details open ontoggle=hit()>",
  "<input autofocus onfocus=hit()>",
  "<select autofocus onfocus=hit()>",
  "<textarea autofocus onfocus=hit()>",
  "<button popovertarget=x onclick=hit()>x</button>",
  "<a href=javascript:hit()>x</a>",
  "<form action=javascript:hit()><input type=submit>",
  "<math><mtext><img src=x onerror=hit()></mtext></math>",
  "<style>*{background:url(javascript:hit())}</style>",
  "<link rel=stylesheet href=javascript:hit()>",
  "<meta http-equiv=refresh content='0;url=javascript:hit()'>",
  "<base href=javascript:hit()//>",
  "<marquee onstart=hit()>x</marquee>",
];

// Strings that close the markup in which a string could be embedded.
const ENDS = ["", "\">", "'>", "</script>", "</textarea>", "</title>", "-->"];

const OTHERS = [
  "javascript:hit()",
  "JaVaScRiPt:hit()",
  "javascript&colon;hit()",
  "data:text/html,<script>hit()</script>",
  "vbscript:hit()",
  "\" onmouseover=hit() x=\"",
  "' onfocus='hit()' autofocus='",
  "` onload=hit() `",
  "${hit()}",
  "{{hit()}}",
  "{{constructor.constructor('hit()')()}}",
  "<%= hit() %>",
  "#{hit()}",
  "');hit();//",
  "\");hit();//",
  "`;hit();//",
  "];hit();[",
  "hit()",
  "=hit()",
  "&lt;script&gt;hit()&lt;/script&gt;",
  "&#60;script&#62;hit()&#60;/script&#62;",
  "%3Cscript%3Ehit()%3C/script%3E",
  "\\u003cscript\\u003ehit()\\u003c/script\\u003e",
  "\\x3cscript\\x3ehit()\\x3c/script\\x3e",
  "__proto__",
  "constructor",
  "[object Object]",
  "<!--<script>hit()//-->",
  "<![CDATA[<script>hit()</script>]]>",
  "]]><script>hit()</script>",
  "+ADw-script+AD4-hit()+ADw-/script+AD4-",
  "@import 'javascript:hit()';",
  // Styles.
  "}*{background:url(//127.0.0.1:9/hit)}",
  "x;background:url(javascript:hit());width:expression(hit())",
  "</style><script>hit()</script>",
  "\" style=position:fixed;inset:0 onclick=hit() x=\"",
  // Drawings.
  "<svg><set attributeName=onmouseover to=hit()>",
  "<svg><a xlink:href=javascript:hit()><text y=9>x</text></a></svg>",
  "<svg><foreignObject><img src=x onerror=hit()></foreignObject></svg>",
  "<svg><style>@import'javascript:hit()'</style></svg>",
  // Addresses.
  "//127.0.0.1:9/hit()",
  "https://user:hit()@127.0.0.1:9/?x=<script>hit()</script>",
  "../../../sign-in?return_to=javascript:hit()",
  "blob:null/hit()",
  "view-source:javascript:hit()",
  // Templates and markup of other languages.
  "{{= hit() }}",
  "{% hit() %}",
  "[[hit()]]",
  "${{hit()}}",
  "<${hit()} />",
  "[x](javascript:hit())",
  "![x](x:x\" onerror=\"hit())",
  "<template><script>hit()</script></template>",
  "<x-hit onclick=hit() contenteditable autofocus onfocus=hit()>",
];

// Values with characters that are invisible or change the direction of text, and the text that a page shows instead.
export const INVISIBLE = [
  ["\u202e<script>hit()</script>\u202c", "U+202E<script>hit()</script>U+202C"],
  ["\u2066hit()\u2069", "U+2066hit()U+2069"],
  ["<\u200bscript>hit()", "<U+200Bscript>hit()"],
  ["\ufeffhit()", "U+FEFFhit()"],
  ["\u001b[31mhit()\u0007", "U+001B[31mhit()U+0007"],
  ["java\u00adscript:hit()", "javaU+00ADscript:hit()"],
];

// Names of properties that every JavaScript object has, as keys of secrets.
export const INHERITED_KEYS = ["__proto__", "constructor", "hasOwnProperty", "toString", "valueOf"];

// Text without a place where a line could be broken, longer than any window is wide.
export const LONG = "W".repeat(400);

export const PAYLOADS = [...ENDS.flatMap((end) => ELEMENTS.map((element) => `${end}${element}`)), ...OTHERS];
