{% test k_anonymous(model, quasi, k) %}

select {{ quasi | join(', ') }}, count(*) as people
from {{ model }}
group by {{ quasi | join(', ') }}
having count(*) < {{ k }}

{% endtest %}
